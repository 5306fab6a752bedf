// The native picture equals the browser's, to the eye: the same draw lists through the crate `picture`
// and through the client's own canvas, cell by cell.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT, launch, scratch } from './harness.mjs';

/** The program that draws the scenes natively. */
const SCENES = process.env.COPLAY_SCENES ? [process.env.COPLAY_SCENES]
  : [process.env.CARGO ?? 'cargo', 'run', '--quiet', '-p', 'picture', '--example', 'scenes', '--'];
const DIST = process.env.COPLAY_DIST ?? path.join(ROOT, 'dist');
const ORIGIN = 'http://picture.test';
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' };

/** A channel that differs by more than this, of 255, is another colour. */
const FAR = 64;

/**
 * How much pictures that look alike differ in their worst cell: in the mean of a channel, and in the part of the pixels
 * that have another colour. Two rasterisers differ along edges, whose part of a cell falls with its size;
 * an SVG document, besides, lies between the pixels where the canvas does not. Fonts are the machine's own.
 */
const edges = (scale, times) => ({ mean: 100 * times / scale, share: times / scale });
const fonts = { mean: 28, share: 0.25 };
const within = (found, limit) => found.mean <= limit.mean && found.share <= limit.share;

/** Pixels a cell; an SVG document has so many units a cell. */
const SCALES = [32, 64];

/** A page with the client's module and nothing else. */
async function opened(browser) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 1000 } });
  await page.route(`${ORIGIN}/**`, async route => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (!name) return route.fulfill({ contentType: 'text/html', body: '<!doctype html><body style="margin:0">' });
    return route.fulfill({ contentType: TYPES[path.extname(name)], body: await readFile(path.join(DIST, name)) });
  });
  await page.goto(`${ORIGIN}/`);
  return page;
}

/** In the page: what the canvas shows of a list, beside PNG files: for each the worst cell. */
async function compare({ sprites, list, files, scale, far }) {
  const { default: init, StaticPicture } = await import('/client_wasm.js');
  await init();
  const bytes = base64 => Uint8Array.from(atob(base64), char => char.charCodeAt(0));
  const images = await Promise.all(files.map(async file => {
    const image = Object.assign(new Image(), { src: file });
    await image.decode();
    return image;
  }));
  const [{ width, height }] = images;
  const canvas = document.createElement('canvas');
  canvas.style = `display: block; width: ${width}px; height: ${height}px`;
  document.body.replaceChildren(canvas);
  const still = new StaticPicture(canvas, sprites);
  while (!still.is_complete()) await new Promise(requestAnimationFrame);
  still.show(bytes(list));
  const shown = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  return images.map(image => {
    const native = new OffscreenCanvas(width, height).getContext('2d');
    native.drawImage(image, 0, 0, width, height);
    const drawn = native.getImageData(0, 0, width, height).data;
    const worst = { mean: 0, share: 0 };
    for (let top = 0; top < height; top += scale) {
      for (let left = 0; left < width; left += scale) {
        let [sum, many] = [0, 0];
        for (let y = top; y < top + scale; y++) {
          for (let x = left; x < left + scale; x++) {
            const at = 4 * (y * width + x);
            const channels = [0, 1, 2, 3].map(channel => Math.abs(shown[at + channel] - drawn[at + channel]));
            sum += channels[0] + channels[1] + channels[2] + channels[3];
            many += Math.max(...channels) > far;
          }
        }
        const mean = sum / (4 * scale * scale);
        if (mean > worst.mean) Object.assign(worst, { mean, at: [left / scale, top / scale] });
        worst.share = Math.max(worst.share, many / (scale * scale));
      }
    }
    return worst;
  });
}

for (const scale of SCALES) {
  test(`at ${scale} pixels a cell, browser and crate draw the same`, async t => {
    const folder = await scratch(t);
    await promisify(execFile)(SCENES[0], [...SCENES.slice(1), folder, String(scale)], { cwd: ROOT });
    const browser = await launch();
    t.after(() => browser.close());
    const page = await opened(browser);
    const scenes = (await readdir(folder)).filter(name => name.endsWith('.list')).map(name => name.slice(0, -5));
    assert.ok(scenes.length >= 3, `scenes: ${scenes}`);
    for (const scene of scenes) {
      const file = (end, encoding) => readFile(path.join(folder, `${scene}.${end}`), encoding);
      const url = async (end, type) => `data:${type};base64,${await file(end, 'base64')}`;
      const [pixels, svg, without] = await page.evaluate(compare, {
        sprites: await file('sprites.json', 'utf8'),
        list: await file('list', 'base64'),
        files: [await url('png', 'image/png'), await url('svg', 'image/svg+xml'), await url('without.png', 'image/png')],
        scale,
        far: FAR,
      });
      const found = JSON.stringify({ pixels, svg, without });
      t.diagnostic(`${scene}: ${found}`);
      const limit = times => (scene === 'text' ? fonts : edges(scale, times));
      assert.ok(within(pixels, limit(1)), `${scene} looks the same as pixels: ${found}`);
      if (scale === 64) assert.ok(within(svg, limit(2.5)), `${scene} looks the same as SVG: ${found}`);
      assert.ok(!within(without, limit(1)), `${scene} without its last item looks different: ${found}`);
    }
  });
}
