// SPDX-License-Identifier: Apache-2.0
//
// duckdb.js JSON.md: runs each SQL block of the page in the current folder, and
// prints {"title": [rows]} as JSON.
'use strict';
const fs = require('fs');
const path = require('path');
const { DuckDBInstance } = require(
	path.join(process.cwd(), 'node_modules/@duckdb/node-api'));

async function main() {
	const database = await DuckDBInstance.create(':memory:');
	const connection = await database.connect();
	const page = fs.readFileSync(process.argv[2], 'utf8');
	const answers = {};
	let title;

	for (const part of page.split('```')) {
		const titles = part.match(/^\*\*\d+\. .*?\*\*/gm);

		if (part.startsWith('sql\n'))
			answers[title] = (await connection.runAndReadAll(
				part.slice(4))).getRowObjectsJson();
		else if (titles)
			title = titles.pop().replace(/\*/g, '');
	}
	console.log(JSON.stringify(answers));
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
