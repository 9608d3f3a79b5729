// SPDX-License-Identifier: Apache-2.0
//
// truth_node.js ROUNDS - JSON, a map, strings and a sort (truth.sh).
'use strict';

function makeRows(seed) {
	const rows = [];

	for (let i = 0; i < 400; i++) {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		rows.push({ id: seed, name: `name ${seed % 997}`, part: seed / 7 });
	}
	return rows;
}

function countNames(rows) {
	const counts = new Map();

	for (const row of rows)
		counts.set(row.name, (counts.get(row.name) || 0) + 1);
	return counts;
}

function hashText(text) {
	let hash = 17;

	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash, 31) + text.charCodeAt(i) | 0;
	return hash;
}

let sum = 0;

for (let i = 0; i < Number(process.argv[2] || 100); i++) {
	const rows = makeRows(i + 1);
	const text = JSON.stringify(rows);
	const again = JSON.parse(text).sort((a, b) => a.id - b.id);

	sum += hashText(text) + countNames(again).size;
}
console.log(sum);
