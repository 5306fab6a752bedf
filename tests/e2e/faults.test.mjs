// What goes wrong between people, browsers and servers: each ends in a sentence, with nothing acknowledged lost.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Participant, SOON, Server, drawLess, launch, reachable, scratch, sideBySide, studyWith } from './harness.mjs';
import { equal, figures, verified } from './match.mjs';

/** Ticks of a match, and how many in a second: long enough for what goes wrong in its middle. */
const HORIZON = 120;
const HZ = 20;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A server with a short study of its own. */
async function serve(t, changes = {}) {
  const folder = await scratch(t);
  const study = await studyWith({ horizon: HORIZON, tick_hz: HZ, ...changes }, folder);
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  return Object.assign(server, { study });
}

/** Both participants of a server, in the match. */
async function pair(t, server, options = [{}, {}]) {
  const people = await Promise.all(options.map((each, seat) =>
    Participant.open(browser, server.links[seat], { name: `page ${seat}`, ...each, before: [drawLess, each.before ?? []].flat() })));
  t.after(() => Promise.all(people.map(person => person.context.close())));
  await Promise.all(people.map(person => person.read()));
  return people;
}

/** Both play on, answer, and reach the last page. */
const finish = people => Promise.all(people.map(async person => {
  const report = await person.play();
  await person.goOn();
  await person.answer();
  await person.shows('end');
  return report;
}));

const stored = async server => {
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.equal(episodes.length, 1);
  return episodes[0];
};

sideBySide(4, () => {
  test('a closed tab leaves a sentence, and the survivor reaches the last page', async t => {
    // So long that it ends because somebody is gone, however slow the machine is.
    const server = await serve(t, { grace_s: 2, horizon: 10 * HORIZON });
    const [leaver, survivor] = await pair(t, server);
    await Promise.all([leaver, survivor].map(person => person.play(turn => turn.report.confirmed > 30)));
    // Read as soon as it is there: after a while, the page continues by itself.
    const sentence = survivor.page.waitForFunction(
      () => document.querySelector('section.play .overlay:has(button.primary)')?.textContent, null, { timeout: 2 * SOON });
    await Promise.all([sentence, leaver.context.close()]);
    assert.match(await (await sentence).jsonValue(), /partner/i);
    await survivor.goOn();
    await survivor.answer();
    await survivor.shows('end');
    const episode = await stored(server);
    assert.ok(episode.ticks > 30, `what was confirmed is kept: ${episode.ticks} ticks`);
    assert.ok(episode.ticks < 10 * HORIZON, 'what nobody played is not there');
  });

  test('the server is killed and restarted while two people play: the match goes on and nothing is lost', async t => {
    const server = await serve(t, { horizon: 2 * HORIZON });
    const people = await pair(t, server);
    await Promise.all(people.map(person => person.play(({ report }) => report.confirmed - report.unsaved > 20)));
    const through = Math.max(...(await Promise.all(people.map(person => person.report()))).map(r => r.confirmed));
    await server.kill();
    // The match does not notice: both play a second and more with no server there.
    await Promise.all(people.map(person => person.play(turn => turn.report.confirmed > through + 20)));
    const again = await Server.start({ study: server.study, data: server.data, port: server.port });
    t.after(() => again.kill());
    const reports = await finish(people);
    await again.stop();
    const result = figures(reports, await stored(again));
    assert.equal(result.ticks, 2 * HORIZON);
    assert.ok(equal(result.digests), JSON.stringify(result.digests));
  });

  test('a reload between stages resumes where the person was', async t => {
    const server = await serve(t, { horizon: 40 });
    const people = await pair(t, server);
    await Promise.all(people.map(async person => {
      await person.play();
      await person.goOn();
      await person.shows('survey');
      await person.page.reload();
      await person.shows('survey');
      await person.answer();
      await person.shows('end');
      await person.page.reload();
      await person.shows('end');
    }));
    await stored(server);
  });

  test('a wrong link gets a sentence', async t => {
    const server = await serve(t);
    const person = await Participant.open(browser, `${server.url}?s=nobody-knows-this-link`);
    t.after(() => person.context.close());
    await person.says(/don.t know this link/i);
  });

  /** In the page: what it hears from the server is of another version of the protocol. */
  const hearsAnother = () => {
    const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'data');
    Object.defineProperty(MessageEvent.prototype, 'data', {
      get() {
        const data = get.call(this);
        if (data instanceof ArrayBuffer) new Uint8Array(data)[0] = 1;
        return data;
      },
    });
  };

  /** In the page: what it says to the server is of another version of the protocol. */
  const speaksAnother = () => {
    const { send } = WebSocket.prototype;
    WebSocket.prototype.send = function (data) {
      const bytes = data.slice();
      bytes[0] = 1;
      send.call(this, bytes);
    };
  };

  for (const [does, before] of [['hears', hearsAnother], ['speaks', speaksAnother]]) {
    test(`a page that ${does} another version says that it wants to be loaded again`, async t => {
      const server = await serve(t);
      const person = await Participant.open(browser, server.links[0], { before });
      t.after(() => person.context.close());
      await person.says(/out of date/i);
    });
  }

  test('a link in a second window goes on there, and the first window says so', async t => {
    const server = await serve(t);
    const one = await Participant.open(browser, server.links[0], { name: 'first window' });
    await one.shows('instructions');
    const two = await Participant.open(browser, server.links[0], { name: 'second window' });
    t.after(() => Promise.all([one, two].map(person => person.context.close())));
    await two.shows('instructions');
    await one.says(/another tab or window/i);
    await one.page.click('text=Play here instead');
    await one.shows('instructions');
    await two.says(/another tab or window/i);
  });

  test('browsers without WebRTC play through the server', async t => {
    const server = await serve(t);
    const people = await pair(t, server, [{ before: () => { delete window.RTCPeerConnection; } }, {}]);
    const reports = await finish(people);
    assert.deepEqual(reports.map(report => report.link), ['relay', 'relay']);
    const result = figures(reports, await stored(server));
    assert.equal(result.ticks, HORIZON);
    assert.ok(equal(result.digests), JSON.stringify(result.digests));
  });

  /** In the page: what it signals is no description and no way to it. */
  const rubbish = () => {
    const answer = value => ({ get: () => value });
    Object.defineProperty(RTCPeerConnection.prototype, 'localDescription', answer({ type: 'offer', sdp: 'v=0\r\nno more' }));
    Object.defineProperty(RTCIceCandidate.prototype, 'candidate', answer('candidate:none of them'));
  };

  for (const [nth, side] of ['first', 'second'].entries()) {
    test(`a ${side} page that signals rubbish is played with through the server`, async t => {
      const server = await serve(t);
      const people = await pair(t, server, [0, 1].map(seat => seat === nth ? { before: rubbish } : {}));
      const reports = await finish(people);
      assert.deepEqual(reports.map(report => report.link), ['relay', 'relay']);
      assert.deepEqual(people.map(person => person.errors), [[], []]);
      assert.ok(equal(figures(reports, await stored(server)).digests), 'one state');
    });
  }

  for (const seat of [0, 1]) {
    test(`a connection that dies at seat ${seat} is built anew`, async t => {
      const server = await serve(t, { horizon: 600 });
      const people = await pair(t, server, [{ before: reachable }, { before: reachable }]);
      await Promise.all(people.map(person => person.play(({ report }) => report.link === 'direct' && report.confirmed > 10)));
      const seats = await Promise.all(people.map(async person => (await person.report()).seat));
      await people[seats.indexOf(seat)].page.evaluate(() => window.connections.forEach(each => each.close()));
      await Promise.all(people.map(person => person.play(({ report }) => report.link === 'relay')));
      await Promise.all(people.map(person => person.play(({ report }) => report.link === 'direct')));
      const reports = await finish(people);
      assert.deepEqual(reports.map(report => report.link), ['direct', 'direct']);
      assert.ok(equal(figures(reports, await stored(server)).digests), 'one state');
    });
  }

  test('one person alone gets an AI partner when the lobby ends', async t => {
    const server = await serve(t, { timeout_s: 5, horizon: 300 });
    const person = await Participant.open(browser, server.links[0]);
    t.after(() => person.context.close());
    const report = await person.takePart();
    const episode = await stored(server);
    assert.equal(episode.ticks, 300);
    assert.equal(report.digest, episode.digest);
    assert.ok(episode.events.delivery > 0, `the two of them served a soup: ${JSON.stringify(episode)}`);
  });

  test('two servers on one port: the second says so', async t => {
    const server = await serve(t);
    const folder = await scratch(t);
    const second = Server.start({ study: server.study, data: `${folder}/data`, port: server.port });
    t.after(() => second.then(other => other.kill(), () => {}));
    await assert.rejects(second, new RegExp(`port ${server.port}|:${server.port}`));
  });

  test('a study with a typo is refused with its line', async t => {
    const folder = await scratch(t);
    const study = await studyWith({ type: 'instructoins' }, folder);
    await assert.rejects(Server.start({ study, data: `${folder}/data` }), /study\.yaml:\d+:\d+: timeline\[0\]/);
  });
});
