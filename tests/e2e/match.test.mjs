// The two-browser match: the whole path, on a clean network and on a bad one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server, scratch, sideBySide, studyWith } from './harness.mjs';
import { equal, figures, match, verified } from './match.mjs';

/** Long enough for two scripted cooks to serve soups, short enough for a test. */
const HORIZON = 300;

async function played(t, network) {
  const folder = await scratch(t);
  const server = await Server.start({
    study: await studyWith({ horizon: HORIZON }, folder), data: `${folder}/data`,
  });
  t.after(() => server.kill());
  const reports = await match({ server, network });
  await server.stop();
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.equal(episodes.length, 1);
  for (const { link, datagrams } of reports) {
    assert.equal(link, 'direct', 'inputs travel from page to page');
    assert.ok(datagrams > HORIZON / 2, `and not by the server: ${datagrams} packets of ${HORIZON} ticks`);
  }
  const result = figures(reports, episodes[0]);
  t.diagnostic(JSON.stringify(result));
  assert.equal(result.ticks, HORIZON);
  assert.ok(equal(result.digests), `one state, not ${JSON.stringify(result.digests)}`);
  assert.ok(result.deliveries > 0, 'a soup was delivered');
  return result;
}

sideBySide(2, () => {
  test('two browsers cook together, peer to peer, and the server holds the same trajectory', t => played(t));

  test('a slow and lossy network changes nothing of what is confirmed', async t => {
    const result = await played(t, { latency_ms: 120, loss: 0.05 });
    assert.ok(result.rtt_ms >= 120, `the network is slow: ${result.rtt_ms} ms`);
    assert.ok(result.rollbacks > 0, 'predictions were wrong and were corrected');
  });
});
