// The server's own STUN and TURN, as browsers use them: no page of ours in between.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { SOON, Server, launch, noFirefox, scratch, sideBySide } from './harness.mjs';

/** A credential as anybody makes it who knows the secret: that of a match, for one seat. */
async function credential(server, { group = 'match', seconds = 600 } = {}) {
  const secret = (await readFile(`${server.data}/turn.secret`)).toString('hex');
  const username = `${Math.floor(Date.now() / 1_000) + seconds}:${group}.0`;
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
      t.after(() => server.kill());
      const browser = await launch(engine);
      t.after(() => browser.close());
      const page = await browser.newPage();
      await page.goto(server.url);
      const relayed = async (transport, credentials, limit = SOON) => page.evaluate(connect, {
        servers: credentials.map(each => [{ urls: `turn:127.0.0.1:${server.turnPort}?transport=${transport}`, ...each }]),
        limit,
      });
      const good = [await credential(server), await credential(server)];
      for (const transport of ['udp', 'tcp']) {
        const { data, seen } = await relayed(transport, good);
        assert.equal(data, 'through the relay', `${transport}: ${seen.join('\n')}`);
        assert.ok(seen.length > 0 && seen.every(candidate => candidate.includes('typ relay')), seen.join('\n'));
      }
      const expired = await relayed('udp', [await credential(server, { seconds: -60 }), good[1]], 2_000);
      assert.equal(expired.data, null, 'a credential that has expired opens nothing');
      const strangers = await relayed('udp', [await credential(server, { group: 'another' }), good[1]], 2_000);
      assert.equal(strangers.data, null, 'two matches do not reach each other');
    });
  }
});
