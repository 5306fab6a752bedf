// The server's own STUN and TURN, as browsers use them: no page of ours in between.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { SOON, Server, launch, noFirefox, scratch, sideBySide } from './harness.mjs';

/** How long a credential is good that the server gives, seconds; `CREDENTIAL_S` of the crate `turn`. */
const LASTS_S = 6 * 3_600;

/**
 * A credential as the server makes it: that of a match, for one seat, `given_s` seconds since the Unix epoch. One that
 * was given before the server started is of a match that is over.
 */
async function credential(server, given_s, group = 'match') {
  const secret = (await readFile(`${server.data}/turn.secret`)).toString('hex');
  const username = `${given_s + LASTS_S}:${group}.0`;
  return { username, credential: createHmac('sha1', secret).update(username).digest('base64') };
}

/** In the page: connects two peers through what they are given, and says what came through. */
async function connect({ servers, limit }) {
  const pair = servers.map(iceServers => new RTCPeerConnection({ iceServers, iceTransportPolicy: 'relay' }));
  const seen = [];
  pair.forEach((peer, at) => peer.addEventListener('icecandidate', ({ candidate }) => {
    if (!candidate?.candidate) return;
    seen.push(candidate.candidate);
    pair[1 - at].addIceCandidate(candidate);
  }));
  const [offering, answering] = pair;
  const channels = pair.map(peer => peer.createDataChannel('d', { ordered: false, maxRetransmits: 0, negotiated: true, id: 0 }));
  const heard = new Promise(resolve => channels[1].addEventListener('message', event => resolve(event.data)));
  const opened = Promise.all(channels.map(channel => new Promise(resolve => channel.addEventListener('open', resolve))));
  await offering.setLocalDescription(await offering.createOffer());
  await answering.setRemoteDescription(offering.localDescription);
  await answering.setLocalDescription(await answering.createAnswer());
  await offering.setRemoteDescription(answering.localDescription);
  const exchange = (async () => {
    await opened;
    channels[0].send('through the relay');
    return heard;
  })();
  const late = new Promise(resolve => setTimeout(resolve, limit, null));
  const data = await Promise.race([exchange, late]);
  pair.forEach(peer => peer.close());
  return { data, seen };
}

sideBySide(2, () => {
  for (const engine of ['chromium', 'firefox']) {
    test(`two peers in ${engine} reach each other through TURN alone`, { skip: engine === 'firefox' && noFirefox }, async t => {
      const folder = await scratch(t);
      const server = await Server.start({ data: `${folder}/data` });
      const now_s = Math.floor(Date.now() / 1_000);
      t.after(() => server.kill());
      const browser = await launch(engine);
      t.after(() => browser.close());
      const page = await browser.newPage();
      await page.goto(server.url);
      const relayed = async (transport, credentials, limit = SOON) => page.evaluate(connect, {
        servers: credentials.map(each => [{ urls: `turn:127.0.0.1:${server.turnPort}?transport=${transport}`, ...each }]),
        limit,
      });
      const good = [await credential(server, now_s), await credential(server, now_s)];
      for (const transport of ['udp', 'tcp']) {
        const { data, seen } = await relayed(transport, good);
        assert.equal(data, 'through the relay', `${transport}: ${seen.join('\n')}`);
        assert.ok(seen.length > 0 && seen.every(candidate => candidate.includes('typ relay')), seen.join('\n'));
      }
      const expired = await relayed('udp', [await credential(server, now_s - LASTS_S - 60), good[1]], 2_000);
      assert.equal(expired.data, null, 'a credential that has expired opens nothing');
      const before = await relayed('udp', [await credential(server, now_s - 600), good[1]], 2_000);
      assert.equal(before.data, null, 'nor does that of a match before the server started');
      const strangers = await relayed('udp', [await credential(server, now_s, 'another'), good[1]], 2_000);
      assert.equal(strangers.data, null, 'two matches do not reach each other');
    });
  }
});
