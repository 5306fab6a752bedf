// Annotations of a researcher: the rating and the spans of participants' pages, beside the viewer, saved as a table.

const ANNOTATION_WORDS = {
  film_rate_hint: 'While the replay plays, the value of the slider is taken at every sample. The keys ↑ and ↓ move it. Play a part again to rate it again.',
  film_rate_left: '', film_marks_left: '',
  film_mark_begin: 'A span starts here', film_mark_end: 'The span ends here',
  film_mark_hint: 'Press the button (or the key M) where a span starts, and again where it ends.',
  film_mark_show: 'Go to this span', film_mark_label: 'Label', film_mark_remove: 'Remove',
};

/** A cell of a table: in quotes where needed, and no formula of a table program. */
function csvCell(value) {
  const text = String(value ?? '');
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The annotations of the first episode of the page. */
class Annotations {
  constructor(episode, viewer) {
    Object.assign(this, { episode, viewer });
    for (const id of ['annotate-name', 'annotate-question', 'annotate-low', 'annotate-high', 'annotate-labels']) {
      document.getElementById(id).addEventListener('change', () => this.begin());
    }
    document.getElementById('annotate-save').addEventListener('click', () => this.save());
    this.begin();
  }

  /** Makes the slider and the spans with the words of the form; what was annotated stays. */
  begin() {
    const of = id => document.getElementById(id).value.trim();
    const labels = of('annotate-labels').split(',').map(label => label.trim()).filter(Boolean);
    const task = {
      rate: { question: of('annotate-question') || 'Rating', low: of('annotate-low') || '0', high: of('annotate-high') || '100', every_ms: 500 },
      mark: { question: 'What happens here?', labels: labels.map(label => ({ value: label, text: label })), least: 0, most: 1000 },
    };
    const before = this.annotator?.answers() ?? [];
    this.annotator?.close();
    const host = document.getElementById('annotate-host');
    host.replaceChildren();
    const { episode, viewer } = this;
    const player = {
      first: 0, end: episode.ticks, hz: episode.hz,
      get tick() { return viewer.tickOf(episode); },
      seek: tick => viewer.seek(tick / episode.hz * viewer.hz),
      pause: () => viewer.play(false),
    };
    this.annotator = new Annotator(host, task, ANNOTATION_WORDS, player, () => this.tell());
    this.annotator.restore(before);
    this.tell();
  }

  isOpen() {
    return document.getElementById('annotate').open;
  }

  follow(isPlaying) {
    if (this.isOpen()) this.annotator.follow(this.viewer.tickOf(this.episode), isPlaying);
  }

  press(event) {
    return this.isOpen() && this.annotator.press(event);
  }

  /** The table: one row for each sample and each span, in the columns of `annotations` of an export. */
  table() {
    const { episode, annotator } = this;
    const who = document.getElementById('annotate-name').value.trim();
    const of = row => [episode.name, episode.facts.stage, who, ...row];
    const { every } = annotator;
    const samples = annotator.values.map((value, at) => of(['rating', at * every, Math.min(episode.ticks, (at + 1) * every - 1), value, '', '']));
    const spans = annotator.spans.map(({ first, end, label, text }) => of(['mark', first, end, null, label, text]));
    const rated = samples.filter(row => row[6] !== null);
    return [['episode', 'stage_id', 'annotator', 'kind', 'first_tick', 'end_tick', 'value', 'label', 'text'], ...rated, ...spans];
  }

  tell() {
    const rows = this.table().length - 1;
    document.getElementById('annotate-count').textContent = rows === 1 ? '1 row' : `${rows} rows`;
  }

  save() {
    this.tell();
    const text = this.table().map(row => row.map(csvCell).join(',')).join('\r\n') + '\r\n';
    const link = Object.assign(document.createElement('a'), {
      href: URL.createObjectURL(new Blob([text], { type: 'text/csv' })), download: 'annotations.csv',
    });
    link.click();
  }
}
