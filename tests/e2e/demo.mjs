// `cargo xtask demo --headless`: two real browsers play the example study, and the result is printed.

import { mkdir, mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Server, say } from './harness.mjs';
import { equal, figures, match, verified } from './match.mjs';

const { values: options } = parseArgs({
  options: {
    study: { type: 'string' },
    data: { type: 'string' },
    port: { type: 'string', default: '0' },
    'latency-ms': { type: 'string', default: '0' },
    loss: { type: 'string', default: '0' },
    json: { type: 'boolean' },
    keep: { type: 'boolean' },
  },
});

const network = { latency_ms: Number(options['latency-ms']), loss: Number(options.loss) };
// Sessions of an earlier run that was cut short must not be taken up: each run has its own folder.
const home = path.resolve(options.data ?? 'coplay-data');
await mkdir(home, { recursive: true });
const data = options.data ? home : await mkdtemp(path.join(home, 'headless-'));
const server = await Server.start({ study: path.resolve(options.study), data, port: options.port });
let result;
try {
  say(`the server listens on ${server.url}`);
  const bad = network.latency_ms > 0 || network.loss > 0;
  const reports = await match({ server, network: bad ? network : undefined });
  const { code, episodes } = await verified(data);
  const episode = episodes.find(episode => episode.episode === reports[0].episode);
  if (!episode) throw new Error(`coplay verify ended with ${code} and does not know episode ${reports[0].episode}`);
  result = figures(reports, episode);
} finally {
  if (!options.keep) await server.stop();
}

if (options.json) {
  console.log(JSON.stringify(result));
} else {
  const { digests } = result;
  console.log(`
ticks played        ${result.ticks}
soups delivered     ${result.deliveries}
rollbacks           ${result.rollbacks}, the deepest ${result.max_rollback_depth} ticks
round trip          ${result.rtt_ms} ms
digest of peer 0    ${digests.peer_0}
digest of peer 1    ${digests.peer_1}
digest of replica   ${digests.replica}  ${equal(digests) ? '(equal)' : '(DIFFERENT)'}
episode             ${result.episode_path}`);
}
if (options.keep) say(`the server is still there: ${server.url}; Ctrl-C ends it`);
if (!equal(result.digests)) say('the digests differ');
if (result.deliveries === 0) say('nothing was delivered');
process.exitCode = equal(result.digests) && result.deliveries > 0 ? 0 : 1;
if (options.keep) await server.gone;
