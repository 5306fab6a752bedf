// Videos: the confirmed picture of the chosen seat, saved as a GIF, or recorded by the browser as MP4 or WebM.

/** The types that browsers record, the most widely played first. */
const RECORDED = [['video/mp4;codecs=avc1.42E01E', 'mp4'], ['video/mp4', 'mp4'], ['video/webm;codecs=vp9', 'webm'], ['video/webm', 'webm']];

/** The type that this browser records; nothing if it records none. */
function recordedType() {
  if (!window.MediaRecorder || !HTMLCanvasElement.prototype.captureStream) return null;
  return RECORDED.find(([type]) => MediaRecorder.isTypeSupported(type)) ?? null;
}

/** Lets the page paint, and go on at once. */
const rest = () => new Promise(resolve => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => resolve();
  port2.postMessage(null);
});

/** The form below the tables that saves a part of the first episode. */
class Videos {
  constructor(episode, sprites, viewer) {
    Object.assign(this, { episode, sprites, viewer, isBusy: false });
    const of = id => document.getElementById(id);
    of('video-to').value = episode.ticks;
    for (const id of ['video-from', 'video-to']) of(id).max = episode.ticks;
    of('video-view').replaceChildren(element('option', 'the whole world', { value: '' }),
      ...episode.seats.map((_, seat) => element('option', `seat ${seat}`, { value: seat })));
    const type = recordedType();
    of('video-record').hidden = !type;
    of('video-record').textContent = `Save ${type?.[1] === 'mp4' ? 'MP4' : 'WebM'}`;
    of('video-gif').addEventListener('click', () => this.save(order => this.writeGif(order), 'gif'));
    of('video-record').addEventListener('click', () => this.save(order => this.record(order, type[0]), type[1]));
    of('video-stop').addEventListener('click', () => { this.isBusy = false; });
  }

  /** The part, view, size and speed that the form asks for; a fault in words if it asks for none. */
  order() {
    const number = id => document.getElementById(id).valueAsNumber;
    const [from, to, width] = ['video-from', 'video-to', 'video-width'].map(number);
    const { episode } = this;
    if (!(Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to && to <= episode.ticks)) {
      throw new Error(`Choose ticks from 0 to ${episode.ticks}, the first one not after the last.`);
    }
    if (!(width >= 16 && width <= 4096)) throw new Error('Choose a width from 16 to 4096 pixels.');
    const seat = document.getElementById('video-view').value;
    const pictures = seat === '' ? episode.whole : episode.seats[seat].confirmed;
    return { from, to, width, pictures, hz: episode.hz * this.viewer.speed };
  }

  /** A canvas of its own, as large as the form asks, and what paints a tick on it. */
  canvas({ from, width, pictures }, options) {
    const canvas = element('canvas');
    const context = canvas.getContext('2d', options);
    const painter = new Painter(canvas, this.episode.pictures, this.sprites);
    const [cells] = this.episode.pictures.size(pictures[from]);
    painter.pixelsACell = Math.max(1, Math.round(width / cells));
    const paint = tick => {
      painter.paint(pictures[tick]);
      // What is transparent shows white.
      Object.assign(context, { globalCompositeOperation: 'destination-over', fillStyle: '#fff' });
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.globalCompositeOperation = 'source-over';
    };
    paint(from);
    return { canvas, context, paint };
  }

  tell(text) {
    document.getElementById('video-told').textContent = text;
  }

  /** Saves what a deed makes, and says how far it is. */
  async save(deed, end) {
    if (this.isBusy) return;
    try {
      const order = this.order();
      this.isBusy = true;
      document.getElementById('video-stop').hidden = false;
      this.viewer.play(false);
      const blob = await deed(order);
      if (!blob) return this.tell('Stopped; nothing was saved.');
      const name = `replay-${order.from}-${order.to}.${end}`;
      element('a', '', { href: URL.createObjectURL(blob), download: name }).click();
      this.tell(`${name}: ${Math.ceil(blob.size / 1000)} kB`);
    } catch (error) {
      this.tell(error.message);
    } finally {
      this.isBusy = false;
      document.getElementById('video-stop').hidden = true;
    }
  }

  async writeGif(order) {
    const { from, to, hz } = order;
    const { canvas, context, paint } = this.canvas(order, { willReadFrequently: true });
    const gif = new GifWriter(canvas.width, canvas.height);
    const time = states => Math.round(states * 100 / hz);
    for (let tick = from; tick <= to; tick++) {
      paint(tick);
      gif.add(time(tick - from), context.getImageData(0, 0, canvas.width, canvas.height).data);
      if (tick % 10) continue;
      this.tell(`${tick - from} of ${to - from} ticks`);
      await rest();
      if (!this.isBusy) return null;
    }
    const states = to - from + 1;
    return gif.finish(Math.max(time(states), time(states - 1) + 100));
  }

  /** Browsers record what is painted while it is painted, so this takes as long as the video. */
  async record(order, mimeType) {
    const { from, to, hz } = order;
    const { canvas, paint } = this.canvas(order);
    const recorder = new MediaRecorder(canvas.captureStream(Math.min(60, Math.max(10, hz))), { mimeType, videoBitsPerSecond: 4e6 });
    const parts = [];
    recorder.addEventListener('dataavailable', event => parts.push(event.data));
    const ended = new Promise((resolve, reject) => {
      recorder.addEventListener('stop', resolve);
      recorder.addEventListener('error', event => reject(event.error ?? new Error('The browser stopped recording.')));
    });
    recorder.start();
    const begun = performance.now();
    const states = to - from + 1;
    await new Promise(resolve => {
      const beat = () => {
        const passed = (performance.now() - begun) / 1000 * hz;
        paint(Math.min(to, from + Math.floor(passed)));
        this.tell(`Recording: ${Math.floor(Math.min(passed, states) / hz)} of ${Math.ceil(states / hz)} s. Keep this page in front.`);
        if (passed >= states || !this.isBusy) return resolve();
        requestAnimationFrame(beat);
      };
      beat();
    });
    recorder.stop();
    await ended;
    return this.isBusy ? new Blob(parts, { type: mimeType }) : null;
  }
}
