// SPDX-License-Identifier: Apache-2.0
//
// client.cjs URL - pushes a wall profile with Pyroscope's own client for Node.js.
const {default: Pyroscope} = require('@pyroscope/nodejs');

Pyroscope.init({serverAddress: process.argv[2], appName: 'client', flushIntervalMs: 1000});
Pyroscope.startWallProfiling();
const end = Date.now() + 1500;
while (Date.now() < end) Math.sqrt(Date.now());
setTimeout(async () => {
	await Pyroscope.stopWallProfiling();
	process.exit(0);
}, 1500);
