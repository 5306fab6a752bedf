// A Chromium whose tabs are really hidden when another one is in front. The driver of the other tests tells every page
// that it is in sight and keeps the browser from slowing its timers down, so this one is spoken to directly.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { CHROMIUM, SOON, scratch, within } from './harness.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'];

const XVFB = (process.env.PATH ?? '').split(path.delimiter).map(folder => path.join(folder, 'Xvfb')).find(existsSync);

/** Why no browser can have a head here; false if one can. */
export const noScreen = XVFB ? false : 'there is no Xvfb (Debian: xvfb)';

/** Starts a screen that nobody sees, for the time of a test, and gives its name. */
async function startScreen(t) {
  const screen = spawn(XVFB, ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  t.after(() => screen.kill());
  const [number] = await within(SOON, 'the screen is there', once(screen.stdio[3], 'data'));
  return `:${String(number).trim()}`;
}

/** A browser without a driver. */
export class TabBrowser {
  #process;
  #waiting = new Map();
  #sent = 0;

  /** Starts one for the time of a test, on a screen if `head`. */
  static async start(t, { head = false } = {}) {
    const browser = new TabBrowser();
    const folder = await scratch(t);
    const env = head ? { ...process.env, DISPLAY: await startScreen(t) } : process.env;
    const args = [...FLAGS, '--remote-debugging-pipe', `--user-data-dir=${folder}`, ...(head ? [] : ['--headless=new']), 'about:blank'];
    browser.#process = spawn(CHROMIUM, args, { env, stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    const gone = once(browser.#process, 'exit');
    t.after(async () => {
      browser.#process.kill();
      await gone;
    });
    browser.#listen();
    return browser;
  }

  /** Messages go over a pipe, each with a zero byte behind it. */
  #listen() {
    let text = '';
    this.#process.stdio[4].setEncoding('utf8').on('data', part => {
      const messages = (text + part).split('\0');
      text = messages.pop();
      for (const { id, result, error } of messages.map(message => JSON.parse(message))) {
        const { resolve, reject } = this.#waiting.get(id) ?? {};
        if (error) reject?.(new Error(error.message));
        else resolve?.(result);
      }
    });
  }

  /** Gives a command to the browser, or to one of its tabs. */
  tell(method, params = {}, sessionId) {
    this.#sent += 1;
    const id = this.#sent;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return within(SOON, `the browser answers ${method}`, answer);
  }

  /** Opens a tab in front of the others; `before` is a function that runs in the page before its own scripts. */
  async open(url, { before } = {}) {
    const { targetId } = await this.tell('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.tell('Target.attachToTarget', { targetId, flatten: true });
    await this.tell('Page.enable', {}, sessionId);
    if (before) await this.tell('Page.addScriptToEvaluateOnNewDocument', { source: `(${before})()` }, sessionId);
    await this.tell('Page.navigate', { url }, sessionId);
    return new Tab(this, targetId, sessionId);
  }
}

class Tab {
  constructor(browser, targetId, sessionId) {
    Object.assign(this, { browser, targetId, sessionId });
  }

  /** Brings the tab to the front, which hides the one that was there. */
  async activate() {
    await this.browser.tell('Target.activateTarget', { targetId: this.targetId });
  }

  /** Runs a function in the page and gives what it returns. */
  async evaluate(work, ...args) {
    const expression = `(${work})(${args.map(arg => JSON.stringify(arg)).join(', ')})`;
    const { result, exceptionDetails } = await this.browser.tell('Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true }, this.sessionId);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Asks the page from outside until an answer holds, and gives that: its own timers may be slow. */
  async waitFor(work, holds, limit = SOON) {
    for (const late = Date.now() + limit; ;) {
      const answer = await this.evaluate(work);
      if (holds(answer)) return answer;
      if (Date.now() > late) throw new Error(`the tab does not come to ${holds}: ${JSON.stringify(answer)}`);
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }
}
