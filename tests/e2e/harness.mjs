// What every end-to-end script shares: the server as a process, the browser, a participant, and waiting.
// Waiting is always for a condition with a limit; no script sleeps to let something happen.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const STUDY = path.join(ROOT, 'examples/overcooked-dyad');

const COPLAY = process.env.COPLAY_BIN ?? path.join(ROOT, 'target/release/coplay');
const CHROMIUM = process.env.COPLAY_CHROMIUM ?? '/usr/bin/chromium';

// The second line makes WebRTC work where there is nothing but a loopback interface;
// it needs the permissions that `Participant.open` grants, too.
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--allow-loopback-in-peer-connection', '--disable-component-update', '--disable-sync',
];

/** Milliseconds within which something that needs no person happens, on a loaded machine. */
export const SOON = 30_000;

/** Says how far a script is, out of the way of its result. */
export const say = text => process.stderr.write(`    ${text}\n`);

export const launch = () => chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });

/** A folder that is gone when the test is over. */
export async function scratch(t) {
  const folder = await mkdtemp(path.join(tmpdir(), 'coplay-'));
  t?.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A copy of the example study with some of its lines changed, such as `{horizon: 150}`. */
export async function studyWith(changes, folder) {
  const copy = path.join(folder, 'study');
  await cp(STUDY, copy, { recursive: true });
  const file = path.join(copy, 'study.yaml');
  let text = await readFile(file, 'utf8');
  for (const [key, value] of Object.entries(changes)) {
    const line = new RegExp(`\\b${key}: *[^\\s,}]+`);
    if (!line.test(text)) throw new Error(`the study has no line "${key}:"`);
    text = text.replace(line, `${key}: ${value}`);
  }
  await writeFile(file, text);
  return copy;
}

// A script that is ended ends its servers.
for (const signal of ['SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

/** The server as people run it. */
export class Server {
  /** Starts it and waits until it has said where it is. */
  static async start({ study = STUDY, data, port = 0, command = 'dev', args = [] }) {
    const server = new Server();
    server.data = data;
    server.words = '';
    server.process = spawn(COPLAY, [command, study, '--port', String(port), '--data', data, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    server.gone = once(server.process, 'exit');
    process.once('exit', () => server.process.kill('SIGKILL'));
    const listening = new Promise((resolve, reject) => {
      const hear = line => {
        server.words += `${line}\n`;
        const links = server.words.match(/http:\/\/\S+\/\?s=[\w-]+/g) ?? [];
        if (links.length >= 2) resolve(links);
      };
      for (const stream of [server.process.stdout, server.process.stderr]) {
        createInterface({ input: stream }).on('line', hear);
      }
      server.gone.then(() => reject(new Error(`the server ended:\n${server.words}`)), reject);
    });
    server.links = await within(SOON, 'the server prints its links', listening);
    server.url = new URL('/', server.links[0]).href;
    server.port = Number(new URL(server.url).port);
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
  instructions: 'section.card:not(.lobby):not(.end):not(.loading) > nav.actions',
  lobby: 'section.lobby',
  play: 'section.play',
  survey: 'form.survey',
  end: 'section.end',
  notice: '[role=alert]:not([hidden]):not(:empty)',
};

/** One person with a browser window of their own. */
export class Participant {
  /** Opens a link. `network` is `{ latency_ms, loss }`; `before` is a script that runs before the page's own. */
  static async open(browser, link, { name = 'page', network, before } = {}) {
    const person = new Participant();
    person.name = name;
    person.errors = [];
    person.context = await browser.newContext({ viewport: { width: 900, height: 700 } });
    await person.context.grantPermissions(['microphone', 'camera']);
    person.page = await person.context.newPage();
    person.page.on('pageerror', error => person.errors.push(error.message));
    if (process.env.COPLAY_VERBOSE) person.page.on('console', line => say(`[${name}] ${line.text()}`));
    if (before) await person.page.addInitScript(before);
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
      const text = await this.page.evaluate(() => document.body.innerText).catch(() => 'a closed page');
      throw new Error(`${this.name} does not show ${stages}, but: ${text}\n${this.errors.join('\n')}\n${error.message}`);
    });
    return found.jsonValue();
  }

  /** Reads the instructions to their last page. */
  async read() {
    await this.shows('instructions');
    while (await this.shows(['instructions', 'lobby', 'play', 'survey', 'end']) === 'instructions') {
      await this.press('button.primary');
    }
  }

  /** Clicks what can be clicked; a stage that ended meanwhile is no failure. */
  async press(selector) {
    await this.page.click(selector, { timeout: 2_000 }).catch(error => {
      if (error.name !== 'TimeoutError') throw error;
    });
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

  /** What the page knows of its match. */
  report() {
    return this.page.evaluate(() => window.coplay.report());
  }

  /** Leaves the outcome of the match behind. */
  async goOn() {
    await this.page.click('section.play .overlay button.primary', { timeout: SOON });
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

/** In the page: waits for the next tick that wants a key of this person, or for the end. */
function nextTurn() {
  return new Promise(resolve => {
    const look = () => {
      const { coplay } = window;
      const shown = document.querySelector('section.play');
      if (!shown || shown.querySelector('.overlay button')) return resolve({ over: true });
      const action = coplay.advise();
      const report = coplay.report();
      if (action >= 0 && report.tick !== window.lastTurn) {
        window.lastTurn = report.tick;
        return resolve({ key: coplay.key_for(action), report });
      }
      requestAnimationFrame(look);
    };
    look();
  });
}
