// A study whose page comes from other hosts: `coplay site`, hosts of plain files, and the server that answers them.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { Participant, Server, coplay, launch, scratch, sideBySide, studyWith } from './harness.mjs';
import { equal, figures, match, verified } from './match.mjs';
import { host } from './plain_host.mjs';

/** Long enough for two scripted cooks to serve soups, short enough for a test. */
const HORIZON = 300;

/** Writes the site of a study for a server, and gives its folder. */
async function written(study, server, folder) {
  const to = server.url.replace('http', 'ws');
  const { code, stdout, stderr } = await coplay('site', study, '--server', to, '--out', folder, '--json');
  assert.equal(code, 0, stderr);
  const { files, built } = JSON.parse(stdout);
  assert.ok(files > 5 && built.length === 64, stdout);
  return folder;
}

/** The status of the answer to a page that opens a session from an origin. */
const opens = (server, origin) => new Promise((resolve, reject) => {
  const headers = {
    connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...(origin && { origin }),
  };
  const asked = request(`${server.url}session`, { headers });
  asked.on('upgrade', (answer, socket) => { socket.destroy(); resolve(answer.statusCode); });
  asked.on('response', answer => { answer.resume(); resolve(answer.statusCode); });
  asked.on('error', reject);
  asked.end();
});

sideBySide(2, () => {
  test('two browsers play from two sites on other ports and paths, and ask nobody but site and server', async t => {
    const folder = await scratch(t);
    const study = await studyWith({ horizon: HORIZON }, folder);
    const site = path.join(folder, 'site');
    const hosts = [await host(t, site, '/lab/kitchen/'), await host(t, site, '/~ada/')];
    const server = await Server.start({
      study, data: `${folder}/data`, serve: true, args: hosts.flatMap(address => ['--site', address]),
    });
    t.after(() => server.kill());
    await written(study, server, site);
    assert.ok(server.links.every(link => link.startsWith(`${hosts[0]}?s=`)), `${server.links}`);
    const links = [server.links[0], server.links[1].replace(hosts[0], hosts[1])];
    const asked = [];
    const reports = await match({ server: { links }, opened: people => asked.push(...people.map(({ asked }) => asked)) });
    await server.stop();
    const { code, episodes } = await verified(server.data);
    assert.equal(code, 0, 'coplay verify finds nothing wrong');
    const result = figures(reports, episodes[0]);
    assert.equal(result.ticks, HORIZON);
    assert.ok(equal(result.digests), `one state, not ${JSON.stringify(result.digests)}`);
    assert.ok(result.deliveries > 0, 'a soup was delivered');
    assert.ok(reports.every(({ link }) => link === 'direct'), 'inputs travel from page to page');
    for (const [at, urls] of asked.entries()) {
      const from = new Set(urls.filter(url => /^(http|ws)/.test(url)).map(url => new URL(url).host));
      const wanted = new Set([new URL(hosts[at]).host, new URL(server.url).host]);
      assert.deepEqual(from, wanted, `page ${at} asked others`);
      const own = urls.filter(url => url.startsWith('http') && new URL(url).host === new URL(hosts[at]).host);
      assert.ok(own.every(url => url.startsWith(hosts[at])), `page ${at} left its path: ${own}`);
      assert.ok(own.some(url => url.includes('modules/')), 'the environment comes from the site');
    }
  });

  test('an undeclared origin, a site of another version and a wrong link are told what is wrong and how to fix it', async t => {
    const folder = await scratch(t);
    const study = await studyWith({ horizon: HORIZON }, folder);
    const site = path.join(folder, 'site');
    const [declared, stranger] = [await host(t, site, '/study/'), await host(t, site, '/study/')];
    const server = await Server.start({ study, data: `${folder}/data`, serve: true, args: ['--site', declared] });
    t.after(() => server.kill());
    await written(study, server, site);
    const browser = await launch();
    t.after(() => browser.close());

    const undeclared = await Participant.open(browser, server.links[0].replace(declared, stranger), { name: 'undeclared' });
    await undeclared.says(/send this sentence to the people who invited you/);
    await undeclared.says(new RegExp(`--site ${new URL(stranger).origin}/`));
    assert.equal(await opens(server, new URL(stranger).origin), 403);
    assert.equal(await opens(server, new URL(declared).origin), 101);
    assert.equal(await opens(server), 101, 'what is no browser names no origin');

    const wrong = await Participant.open(browser, `${declared}?s=nobody-has-this-link`, { name: 'wrong link' });
    await wrong.says(/link/);
    assert.equal(await wrong.page.evaluate(() => location.search), '', 'it has left the address bar');

    const file = path.join(site, 'index.html');
    const page = await readFile(file, 'utf8');
    await writeFile(file, page.replace(/(name="coplay-built" content=")[0-9a-f]{64}/, `$1${'0'.repeat(64)}`));
    const old = await Participant.open(browser, server.links[0], { name: 'old site', device: { locale: 'de-DE' } });
    await old.says(/Bitte schicken Sie diesen Satz an die Leute, die Sie eingeladen haben/);
    await old.says(/coplay site/);
    await writeFile(file, page);
    await old.page.goto(server.links[0]);
    await old.says(/Cook with a partner/);
  });

  test('a folder with other files is refused, and so is an address that is none', async t => {
    const folder = await scratch(t);
    const study = await studyWith({ horizon: HORIZON }, folder);
    const other = await coplay('site', study, '--server', 'wss://study.example.edu', '--out', folder);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /has other files than a site; name an empty folder with --out/);
    const none = await coplay('site', study, '--server', 'study.example.edu', '--out', `${folder}/site`);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /write wss:\/\/study.example.edu/);
  });
});
