// Videos of an episode: a page saves the GIF that the command writes, and records one as the browser can.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { PHONE, SOON, coplay, launch, noFirefox, scratch, studyWith } from './harness.mjs';

const [FROM, TO, WIDTH] = [20, 60, 200];
const cleanup = [];
const folder = { after: deed => cleanup.push(deed) };
let file, gif, written, ticks;

before(async () => {
  const place = await scratch(folder);
  const study = await studyWith({ horizon: '150' }, place);
  const data = path.join(place, 'data');
  const rehearsed = await coplay('rehearse', study, '--sessions', '2', '--data', data);
  assert.equal(rehearsed.code, 0, rehearsed.stderr);
  const [name] = await readdir(path.join(data, 'episodes'));
  const episode = path.basename(name, '.coplay');
  [file, gif] = ['replay.html', 'own.gif'].map(name => path.join(place, name));
  const replayed = await coplay('replay', episode, '--data', data, '--html', file, '--json');
  assert.equal(replayed.code, 0, replayed.stderr);
  [ticks] = JSON.parse(replayed.stdout).ticks;
  const order = ['--gif', gif, '--from', `${FROM}`, '--to', `${TO}`, '--width', `${WIDTH}`, '--view', '1'];
  const filmed = await coplay('replay', episode, '--data', data, '--json', ...order);
  assert.equal(filmed.code, 0, filmed.stderr);
  [written] = JSON.parse(filmed.stdout).videos;
});
after(() => Promise.all(cleanup.map(deed => deed())));

/** Opens the replay with the form for videos, filled with the order that the command had. */
async function opened(browser, options = {}) {
  const page = await (await browser.newContext(options)).newPage();
  page.on('pageerror', error => { throw error; });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('#replay[aria-busy=false]', { timeout: SOON });
  await page.click('#video summary');
  for (const [id, value] of [['from', FROM], ['to', TO], ['width', WIDTH]]) await choose(page, id, value);
  await page.selectOption('#video-view', '1');
  return page;
}

/** Writes into a field; a Firefox that is driven adds to a number instead of replacing it. */
const choose = (page, id, value) => page.$eval(`#video-${id}`, (field, value) => { field.value = value; }, value);

async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download', { timeout: SOON }), page.click(button)]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

/** Two GIFs as the browser itself reads them: sizes, times in milliseconds, and the mean differences of their pictures. */
const compared = (page, ...files) => page.evaluate(async files => {
  const read = async base64 => {
    const data = Uint8Array.from(atob(base64), char => char.charCodeAt(0));
    const decoder = new ImageDecoder({ data, type: 'image/gif' });
    await decoder.tracks.ready;
    await decoder.completed;
    const { frameCount, repetitionCount } = decoder.tracks.selectedTrack;
    const canvas = new OffscreenCanvas(1, 1);
    const [times, pictures] = [[], []];
    for (let frameIndex = 0; frameIndex < frameCount; frameIndex++) {
      const { image } = await decoder.decode({ frameIndex });
      times.push(image.duration / 1000);
      Object.assign(canvas, { width: image.displayWidth, height: image.displayHeight });
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(image, 0, 0);
      pictures.push(context.getImageData(0, 0, canvas.width, canvas.height).data);
      image.close();
    }
    return { size: [canvas.width, canvas.height], repeats: repetitionCount === Infinity, times, pictures };
  };
  const differing = (one, other) => one.reduce((sum, value, at) => sum + Math.abs(value - other[at]), 0) / one.length;
  const [{ pictures: own, ...first }, { pictures: ours, ...second }] = await Promise.all(files.map(read));
  return { first, second, far: own.map((picture, at) => differing(picture, ours[at])), moved: differing(own[0], own.at(-1)) };
}, files.map(file => file.toString('base64')));

test('a page saves the GIF that the command writes', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser);
  const { name, bytes } = await saved(page, '#video-gif');
  assert.equal(name, `replay-${FROM}-${TO}.gif`);
  assert.match(await page.textContent('#video-told'), /\.gif: \d+ kB$/);
  const { first, second, far, moved } = await compared(page, await readFile(gif), bytes);
  assert.deepEqual(second, first);
  assert.ok(first.repeats && first.size[0] === WIDTH);
  assert.equal(first.times.length, written.frames);
  assert.equal(first.times.reduce((sum, ms) => sum + ms), (TO - FROM) * 100 + 1000);
  t.diagnostic(`${first.times.length} frames, ${bytes.length} bytes here and ${written.bytes} there, differences up to ${Math.max(...far)}`);
  // Edges are smoothed a little differently.
  assert.ok(moved > 0 && Math.max(...far) < 2, `${far}`);
});

test('a browser records a video that it plays', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser);
  await page.selectOption('#speed', '4');
  const { name, bytes } = await saved(page, '#video-record');
  const label = await page.textContent('#video-record');
  assert.equal(name, `replay-${FROM}-${TO}.${label === 'Save MP4' ? 'mp4' : 'webm'}`);
  // The page's own policy lets no video in: another one plays it.
  const player = await (await browser.newContext()).newPage();
  const [width, seconds] = await player.evaluate(async ([base64, type]) => {
    const data = Uint8Array.from(atob(base64), char => char.charCodeAt(0));
    const video = document.createElement('video');
    Object.assign(video, { muted: true, src: URL.createObjectURL(new Blob([data], { type })) });
    await new Promise((resolve, reject) => Object.assign(video, { onloadeddata: resolve, onerror: () => reject(video.error) }));
    video.currentTime = 1e6;
    await new Promise(resolve => { video.onseeked = resolve; });
    return [video.videoWidth, video.currentTime];
  }, [bytes.toString('base64'), name.endsWith('mp4') ? 'video/mp4' : 'video/webm']);
  assert.equal(width, WIDTH);
  // 41 states at 40 a second; a loaded machine paints the last one late.
  assert.ok(seconds > .5, `${seconds} s`);
});

test('Firefox records one, too', { skip: noFirefox }, async t => {
  const browser = await launch('firefox');
  t.after(() => browser.close());
  const page = await opened(browser);
  await page.selectOption('#speed', '4');
  await page.click('#video-record');
  // What drives Firefox here tells of no downloads.
  await page.waitForFunction(() => /^replay-.*: \d+ kB$/.test(document.getElementById('video-told').textContent), null, { timeout: SOON });
});

test('what cannot be saved is told, and a long GIF can be stopped', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser, PHONE);
  await choose(page, 'to', 9999);
  await page.click('#video-gif');
  assert.match(await page.textContent('#video-told'), new RegExp(`ticks from 0 to ${ticks}`));
  await choose(page, 'to', ticks);
  await choose(page, 'width', 3000);
  await page.evaluate(() => ['video-gif', 'video-stop'].forEach(id => document.getElementById(id).click()));
  await page.waitForFunction(() => /Stopped/.test(document.getElementById('video-told').textContent), null, { timeout: SOON });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0);
});
