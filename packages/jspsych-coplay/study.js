// A study in a frame: what its page tells this one, and what it can be asked for.

/** The type of the messages between the page of a study and the page around it. */
const TYPE = 'coplay';
/** The type of the message by which a study says that it has ended. */
const ENDED = 'coplay.ended';

/** A study that is shown, or was shown. */
export class Study {
  /** The newest description of the group; `null` before there is one. */
  group = null;
  /** The messages of the group, the oldest first. */
  messages = [];
  /** The episodes that have ended, the oldest first. */
  episodes = [];

  /** A study at an address, a `URL`. `on` is called with the name of an event and its news. */
  constructor(address, { height, title, on }) {
    this.on = on;
    this.origin = address.origin;
    this.frame = document.createElement('iframe');
    this.frame.src = address.href;
    this.frame.title = title;
    this.frame.allow = 'fullscreen; gamepad; clipboard-write';
    this.frame.style.cssText = `width: 100%; min-width: min(900px, 96vw); height: ${height}px; border: 0;`;
    addEventListener('message', this.#hear);
  }

  /** True until the study has ended. */
  get isShown() {
    return this.frame !== null;
  }

  /** Writes a text to the group. The page drops it if it has no open chat, or the text is empty or too long. */
  send(text) {
    this.frame.contentWindow.postMessage({ type: TYPE, send: String(text) }, this.origin);
  }

  #hear = ({ origin, source, data }) => {
    if (origin !== this.origin || source !== this.frame.contentWindow) return;
    const { type, event, ...news } = Object(data);
    if (type === TYPE) this.#take(event, news);
    if (type === ENDED) {
      removeEventListener('message', this.#hear);
      this.frame.remove();
      this.frame = null;
      this.on('ended', news);
    }
  };

  /** Takes news. A page that is loaded again tells again what it knows. */
  #take(event, news) {
    if (event === 'group') {
      this.group = news;
    } else if (event === 'message' && this.messages.every(({ id }) => id !== news.id)) {
      this.messages.push(news);
    } else if (event === 'episode' && this.episodes.every(({ episode }) => episode !== news.episode)) {
      this.episodes.push(news);
    } else {
      return;
    }
    this.on(event, news);
  }
}
