// What every end-to-end script shares: the server as a process, the browser, a participant, and waiting.
// Waiting is always for a condition with a limit; no script sleeps to let something happen.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { describe } from 'node:test';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium, firefox } from 'playwright-core';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const STUDY = path.join(ROOT, 'examples/overcooked-dyad');

const COPLAY = process.env.COPLAY_BIN ?? path.join(ROOT, 'target/release/coplay');
export const CHROMIUM = process.env.COPLAY_CHROMIUM ?? '/usr/bin/chromium';

const FIREFOX = process.env.COPLAY_FIREFOX ?? '/usr/bin/firefox-esr';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
  // A page of another site, which a test makes up, may have this machine's server in a frame.
  '--disable-features=LocalNetworkAccessChecks',
];

// What makes WebRTC work where there is nothing but a loopback interface. Chromium needs the permissions that
// `Participant.open` grants, too.
const LOOPBACK = {
  chromium: { args: ['--allow-loopback-in-peer-connection'] },
  firefox: {
    firefoxUserPrefs: {
      'media.peerconnection.ice.loopback': true, 'media.peerconnection.ice.obfuscate_host_addresses': false,
    },
  },
};

/** Why no test can drive Firefox here; nothing if one can. */
export const noFirefox = existsSync(FIREFOX) ? false : `there is no Firefox at ${FIREFOX}; COPLAY_FIREFOX names one`;

/** A phone, held upright. */
export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

/** Milliseconds within which something that needs no person happens, on a loaded machine. */
export const SOON = 30_000;

/** Runs the tests of a file side by side, this many at once, and no more than there are cores: pages keep time. */
export const sideBySide = (count, tests) =>
  describe('side by side', { concurrency: process.env.COPLAY_ALONE ? 1 : Math.min(count, availableParallelism()) }, tests);

/** Says how far a script is, out of the way of its result. */
export const say = text => process.stderr.write(`    ${text}\n`);

/** Starts a browser: `chromium` or `firefox`, on this machine or in a `place` of a `Network`. */
export async function launch(engine = 'chromium', place) {
  const { args = [], ...rest } = place ? {} : LOOPBACK[engine];
  const program = engine === 'firefox' ? FIREFOX : CHROMIUM;
  const options = { executablePath: await place?.wrapper(program) ?? program, headless: true, ...rest };
  const browser = engine === 'firefox'
    ? await firefox.launch({ ...options, channel: 'moz-firefox' })
    : await chromium.launch({ ...options, args: [...FLAGS, ...args] });
  return Object.assign(browser, { engine, place });
}

/** A folder that is gone when the test is over. */
export async function scratch(t) {
  const folder = await mkdtemp(path.join(tmpdir(), 'coplay-'));
  // A program that was just ended may still write there.
  t?.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  return folder;
}

/**
 * A copy of the example study with some of its lines changed, such as `{horizon: 150}`; a value may hold more
 * lines. `net`, such as `{ice: relay}`, is added.
 */
export async function studyWith({ net, ...changes }, folder) {
  const copy = path.join(folder, 'study');
  await cp(STUDY, copy, { recursive: true });
  const file = path.join(copy, 'study.yaml');
  let text = await readFile(file, 'utf8');
  for (const [key, value] of Object.entries(changes)) {
    const line = new RegExp(`\\b${key}: *(\\[[^\\]]*\\]|\\{[^}]*\\}|[^\\s,}]+)`);
    if (!line.test(text)) throw new Error(`the study has no line "${key}:"`);
    text = text.replace(line, `${key}: ${value}`);
  }
  if (net) text = text.replace('timeline:', `net: ${net}\n\ntimeline:`);
  await writeFile(file, text);
  return copy;
}

// A script that ends, or is ended, ends its servers.
const running = new Set();
process.once('exit', () => running.forEach(server => server.kill('SIGKILL')));
for (const signal of ['SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

/** The server as people run it. */
export class Server {
  /**
   * Starts it, on this machine or in a `place` of a `Network`, and waits until it has said where it is. It runs for
   * trials, or for participants with `serve`.
   */
  static async start({ study = STUDY, data, port = 0, place, reload = false, serve = false, args = [], soon = SOON }) {
    const server = new Server();
    server.data = data;
    const where = place
      ? ['serve', study, '--listen', `0.0.0.0:${port}`, '--url', `http://${place.address}:${port}`]
      : serve
        ? ['serve', study, '--listen', `127.0.0.1:${port}`, '--turn-port', '0']
        : ['dev', study, '--port', String(port), ...(reload ? [] : ['--no-reload'])];
    const command = [...(place?.command ?? []), COPLAY, ...where, '--data', data, '--json', ...args];
    server.process = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
    server.gone = once(server.process, 'exit');
    running.add(server.process);
    server.gone.then(() => running.delete(server.process), () => {});
    let words = '';
    createInterface({ input: server.process.stderr }).on('line', line => {
      words += `${line}\n`;
      if (process.env.COPLAY_VERBOSE) say(`[server] ${line}`);
    });
    const first = once(createInterface({ input: server.process.stdout }), 'line');
    const failed = server.gone.then(() => { throw new Error(`the server ended:\n${words}`); });
    failed.catch(() => {});
    const [line] = await within(soon, 'the server says where it is', Promise.race([first, failed]));
    server.links = JSON.parse(line).links;
    server.desk = JSON.parse(line).desk;
    server.url = new URL('/', JSON.parse(line).url).href;
    server.port = Number(new URL(server.url).port);
    server.turnPort = JSON.parse(line).turn_port;
    return server;
  }

  /** Ends it as the system would in a power cut. */
  async kill() {
    this.process.kill('SIGKILL');
    await this.gone;
  }

  /** Ends it as a person would. */
  async stop() {
    this.process.kill('SIGINT');
    await within(SOON, 'the server stops', this.gone);
  }
}

/** Runs `coplay` to its end: `{ code, stdout, stderr }`. */
export async function coplay(...args) {
  const child = spawn(COPLAY, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const result = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', bytes => { result[name] += bytes; });
  [result.code] = await once(child, 'close');
  return result;
}

/** Clicks an element; one that is gone meanwhile, alone or with its page, or covered for long, is no failure. */
export const click = element => element.click({ timeout: 2_000 }).catch(error => {
  if (error.name !== 'TimeoutError' && !/not attached|navigation/.test(error.message)) throw error;
});

/** Rejects if the promise takes longer. */
export async function within(limit, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${limit / 1000} s: ${what}`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The stages of a page, by what it shows. */
const STAGES = {
  instructions: 'section.card:not(.lobby):not(.end):not(.loading):not(.rest):not(.talk) > .actions',
  rest: 'section.rest',
  lobby: 'section.lobby',
  chat: 'section.talk',
  play: 'section.play',
  outcome: 'section.play .overlay button.primary',
  survey: 'form.survey',
  end: 'section.end',
  notice: '[role=alert]:not([hidden]):not(:empty)',
};

/** One person with a browser window of their own. */
export class Participant {
  /**
   * Opens a link, in a window of its own or in a tab `beside` that of somebody. `network` is `{ latency_ms, loss }`;
   * `before` is a script, or several, that run before the page's own; `device` is what the browser's context is made
   * with, such as `PHONE`; `listen` gets the page before it goes anywhere.
   */
  static async open(browser, link, { name = 'page', network, before, beside, device, listen } = {}) {
    const person = new Participant();
    person.name = name;
    person.errors = [];
    person.asked = [];
    person.context = beside?.context ?? await browser.newContext({ viewport: { width: 900, height: 700 }, ...device });
    if (browser.engine === 'chromium' && !browser.place) {
      await person.context.grantPermissions(['microphone', 'camera']);
    }
    person.page = await person.context.newPage();
    listen?.(person.page);
    person.page.on('pageerror', error => person.errors.push(error.message));
    person.page.on('console', line => {
      if (line.type() === 'error') person.errors.push(line.text());
      if (process.env.COPLAY_VERBOSE) say(`[${name}] ${line.text()}`);
    });
    person.page.on('request', request => person.asked.push(request.url()));
    person.page.on('websocket', socket => person.asked.push(socket.url()));
    for (const script of [before ?? []].flat()) await person.page.addInitScript(script);
    if (network) await person.impair(network);
    await person.page.goto(link);
    return person;
  }

  /** Delays and loses this page's packets, both ways; connections made before are not touched. */
  async impair({ latency_ms = 0, loss = 0 }) {
    this.cdp ??= await this.context.newCDPSession(this.page);
    await this.cdp.send('Network.enable');
    await this.cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      // Without any latency the browser ignores the loss.
      latency: Math.max(latency_ms, 1),
      packetLoss: loss * 100,
      downloadThroughput: -1,
      uploadThroughput: -1,
    });
  }

  /** Waits until one of the stages is shown, and says which. */
  async shows(stages, limit = SOON) {
    const wanted = [stages].flat().map(stage => [stage, STAGES[stage]]);
    const found = await this.page.waitForFunction(
      wanted => wanted.find(([, selector]) => document.querySelector(selector))?.[0], wanted, { timeout: limit },
    ).catch(async error => {
      const text = await this.page.evaluate(
        () => `${document.body.innerText}\n${window.coplay?.report()}`).catch(() => 'a closed page');
      throw new Error(`${this.name} does not show ${stages}, but: ${text}\n${this.errors.join('\n')}\n${error.message}`);
    });
    return found.jsonValue();
  }

  /** Waits until the page says something in words. */
  async says(words, limit = SOON) {
    await this.page.waitForFunction(
      ([source, flags]) => new RegExp(source, flags).test(document.body.innerText), [words.source, words.flags],
      { timeout: limit },
    ).catch(async error => {
      const text = await this.page.evaluate(() => document.body.innerText).catch(() => 'a closed page');
      throw new Error(`${this.name} does not say ${words}, but: ${text}\n${error.message}`);
    });
  }

  /** Waits until what the page knows of its match is so. */
  async knows(holds, limit = SOON) {
    for (const late = Date.now() + limit; ;) {
      const report = await this.report();
      if (holds(report)) return;
      if (Date.now() > late) throw new Error(`${this.name} does not come to ${holds}: ${JSON.stringify(report)}`);
      await this.page.evaluate(() => new Promise(requestAnimationFrame));
    }
  }

  /** Reads the instructions to their last page. */
  async read() {
    await this.shows('instructions');
    while (await this.shows(['instructions', 'lobby', 'chat', 'play', 'survey', 'end']) === 'instructions') {
      await this.press(`${STAGES.instructions} button.primary`);
    }
  }

  /** Clicks what can be clicked; a stage that ended meanwhile is no failure. */
  async press(selector) {
    const element = await this.page.waitForSelector(selector, { timeout: 2_000 }).catch(error => {
      if (error.name !== 'TimeoutError') throw error;
    });
    if (element) await click(element);
  }

  /** Plays with real key presses, as the scripted cook advises, until the stage is over or `until` holds. */
  async play(until) {
    await this.shows('play');
    for (;;) {
      const turn = await this.page.evaluate(nextTurn).catch(error => {
        throw new Error(`${this.name} fails while playing: ${error.message}`);
      });
      if (turn.over || await until?.(turn)) break;
      if (turn.key) await this.page.keyboard.press(turn.key);
    }
    return this.report();
  }

  /** What the page knows of its match; a page that has just been opened, once its client is there. */
  async report() {
    const report = await this.page.waitForFunction(() => window.coplay?.report(), null, { timeout: SOON });
    return JSON.parse(await report.jsonValue());
  }

  /** Leaves the outcome of the match behind; the page does so by itself after a while. */
  async goOn() {
    if (await this.shows(['survey', 'end', 'outcome']) === 'outcome') await this.press(STAGES.outcome);
  }

  /** Answers every question. */
  async answer() {
    await this.shows('survey');
    for (const item of await this.page.locator('fieldset.item').all()) {
      const choices = item.locator('label.choice');
      const count = await choices.count();
      if (count > 0) await choices.nth(Math.floor(count / 2)).click();
      for (const text of await item.locator('textarea').all()) await text.fill('We shared the work.');
    }
    await this.page.click('form.survey button.primary');
  }

  /** From the first page to the last. */
  async takePart() {
    await this.read();
    const report = await this.play();
    await this.goOn();
    await this.answer();
    await this.shows('end');
    return report;
  }
}

/** In the page, before its own scripts: keeps its WebRTC connections within reach, and counts what comes over them. */
export function reachable() {
  const Connection = window.RTCPeerConnection;
  window.connections = [];
  window.datagrams = 0;
  window.RTCPeerConnection = function (configuration) {
    const connection = new Connection(configuration);
    window.connections.push(connection);
    const { createDataChannel } = connection;
    connection.createDataChannel = (...given) => {
      const channel = createDataChannel.apply(connection, given);
      channel.addEventListener('message', () => { window.datagrams += 1; });
      return channel;
    };
    return connection;
  };
}

/**
 * In the page, before its own scripts: draws twenty frames a second instead of sixty, as a slower machine does. Drawing
 * is most of the work of a page, and many pages share the machine where pictures are not what a test looks at.
 */
export function drawLess() {
  const { requestAnimationFrame: request, setTimeout: later } = window;
  window.requestAnimationFrame = work => later(() => request(work), 35);
  window.cancelAnimationFrame = window.clearTimeout;
}

/** In the page: waits for the next tick, or for the end, and says which key the cook would press. */
function nextTurn() {
  return new Promise(resolve => {
    const look = () => {
      const scene = document.querySelector('section.play');
      if (!scene || scene.querySelector('.overlay button')) return resolve({ over: true });
      const report = JSON.parse(window.coplay.report());
      if (!(report.tick > 0) || report.tick === window.lastTurn) return requestAnimationFrame(look);
      window.lastTurn = report.tick;
      const action = window.coplay.advise();
      resolve({ action, key: action < 0 ? null : window.coplay.key_for(action), report });
    };
    look();
  });
}
