// SPDX-License-Identifier: Apache-2.0
//
// server.mjs TOP - a server of Pyroscope's Push (Connect's own), /ingest, OTLP
// profiles and WriteRaw. Writes its port to ./port and the sums of all values,
// by protocol, to ./sums.
import http from 'node:http';
import {readFileSync, renameSync, writeFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';
import {createFileRegistry, fromBinary} from '@bufbuild/protobuf';
import {FileDescriptorSetSchema} from '@bufbuild/protobuf/wkt';
import {connectNodeAdapter} from '@connectrpc/connect-node';
import protobuf from 'protobufjs';

const top = process.argv[2];
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync('service.bin')));
const pprof = protobuf.loadSync(`${top}/proto/profile.proto`).lookupType('perftools.profiles.Profile');
const otlp = protobuf.loadSync(`${top}/proto/otlp.proto`).lookupType('otlp.ExportProfilesServiceRequest');
const sums = {pyroscope: {}, parca: {}, otlp: {}, ingest: {}};

function add(protocol, key, value) {
	sums[protocol][key] = (sums[protocol][key] ?? 0) + Number(value);
}

function save() {
	writeFileSync('sums.new', JSON.stringify(sums));
	renameSync('sums.new', 'sums');
}

function takePprof(protocol, packed, service, metric) {
	const p = pprof.decode(packed[0] === 0x1f && packed[1] === 0x8b ? gunzipSync(packed) : packed);
	for (const sample of p.sample)
		p.sampleType.forEach((type, i) =>
			add(protocol, `${service} ${metric} ${p.stringTable[type.type]}`, sample.value[i]));
}

function takeSeries(protocol, labels, samples) {
	const names = Object.fromEntries(labels.map(({name, value}) => [name, value]));
	for (const sample of samples)
		takePprof(protocol, sample.rawProfile, names.service_name, names.__name__);
}

function takeOtlp(body) {
	const request = otlp.decode(body), texts = request.dictionary.stringTable;
	const metrics = {cpu: 'process_cpu', wall: 'wall', space: 'memory', contentions: 'mutex'};
	for (const resource of request.resourceProfiles) {
		const service = resource.resource.attributes.find((a) => a.key === 'service.name').value.stringValue;
		for (const scope of resource.scopeProfiles)
			for (const p of scope.profiles) {
				const period = p.periodType ? texts[p.periodType.typeStrindex] : '';
				for (const sample of p.samples)
					add('otlp', `${service} ${metrics[period] ?? 'off_cpu'} ${texts[p.sampleType.typeStrindex]}`,
						sample.values[0]);
			}
	}
}

function takeParca(body) {
	for (const series of JSON.parse(body).series)
		takeSeries('parca', series.labels.labels,
			series.samples.map((s) => ({rawProfile: Buffer.from(s.rawProfile, 'base64')})));
}

/* Of Pyroscope's client: one part, "profile". */
function takeIngest(body) {
	const at = body.indexOf(Buffer.from([0x1f, 0x8b]));
	const end = body.lastIndexOf('\r\n--');
	takePprof('ingest', body.subarray(at, end), 'client', 'wall');
}

const connect = connectNodeAdapter({
	routes(router) {
		router.service(registry.getService('push.v1.PusherService'), {
			push(request) {
				for (const series of request.series)
					takeSeries('pyroscope', series.labels, series.samples);
				save();
				return {};
			},
		});
	},
});

const others = {'/v1development/profiles': takeOtlp, '/profiles/writeraw': takeParca, '/ingest': takeIngest};
const server = http.createServer((request, response) => {
	const take = others[request.url.split('?')[0]];
	if (!take) {
		connect(request, response);
		return;
	}
	const parts = [];
	request.on('data', (part) => parts.push(part));
	request.on('end', () => {
		const body = Buffer.concat(parts);
		take(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
		save();
		if (take === takeIngest)
			console.log(`ok     Pyroscope's client: ${JSON.stringify(sums.ingest)}`);
		response.end();
	});
});
server.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)));
