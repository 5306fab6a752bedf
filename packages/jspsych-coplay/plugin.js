// The plugin, made for the parameter types of the jsPsych that runs it.

import { findMultiplayer, makeAdapter } from './multiplayer.js';
import { Study } from './study.js';

const parseAddress = url => {
  try {
    return new URL(url, location.href);
  } catch {
    throw new Error(`jspsych-coplay: url is ${JSON.stringify(url)}; set it to a participant link, such as https://study.example.edu/?s=TOKEN`);
  }
};

/** The parameters and the data of the plugin. `ParameterType` is jsPsych's. */
const describe = ParameterType => ({
  name: 'coplay',
  version: '0.1.0',
  parameters: {
    /** The participant link, or the address of a study with the identifiers of the participant. */
    url: { type: ParameterType.STRING, default: undefined },
    /** Height of the study, in CSS pixels; the width is that of jsPsych's display. */
    height: { type: ParameterType.INT, default: 640 },
    /** The name of the study for screen readers. */
    title: { type: ParameterType.STRING, default: 'Study' },
    /** Called with the group when it is formed, and when it changes. */
    on_group: { type: ParameterType.FUNCTION, default: null },
    /** Called with each message of the group, also one's own. */
    on_message: { type: ParameterType.FUNCTION, default: null },
    /** Called with each episode that has ended. */
    on_episode: { type: ParameterType.FUNCTION, default: null },
  },
  data: {
    /** How the study has ended: `completed`, `partner_left`, `no_consent` and so on. */
    outcome: { type: ParameterType.STRING },
    /** The completion code; empty if the study has none. */
    code: { type: ParameterType.STRING },
    /** The reference number of the session, by which the participant is found in the data of Coplay. */
    receipt: { type: ParameterType.STRING },
    /** The episodes that have ended, in order, each with its score. */
    episodes: { type: ParameterType.COMPLEX, array: true },
    /** Milliseconds from the start of the trial to the end of the study. */
    rt: { type: ParameterType.INT },
  },
});

/** Makes the class of the plugin. `ParameterType` is jsPsych's. */
export const makePlugin = ParameterType => class CoplayPlugin {
  static info = describe(ParameterType);

  /** The study of the trial that runs, or of the last one. */
  static #study = null;
  static #listeners = new Set();

  /** The group of the study that is shown, or was shown last; `null` before there is one. */
  static group() {
    return CoplayPlugin.#study?.group ?? null;
  }

  /** The partners in that group. */
  static partners() {
    return CoplayPlugin.group()?.partners ?? [];
  }

  /** The messages of that study's chats, the oldest first. */
  static messages() {
    return [...CoplayPlugin.#study?.messages ?? []];
  }

  /** Writes a text to the group, as if the participant had sent it. Once it is stored, `on_message` gets it, too. */
  static send(text) {
    if (!CoplayPlugin.#study?.isShown) throw new Error('jspsych-coplay: no study is shown; send messages during its trial');
    CoplayPlugin.#study.send(text);
  }

  /** Has a function called after each change of group and messages; returns a function that ends it. */
  static subscribe(listener) {
    CoplayPlugin.#listeners.add(listener);
    return () => CoplayPlugin.#listeners.delete(listener);
  }

  /** Connects the interface of this jsPsych for several participants; false if it has none. */
  static async connectMultiplayer(jsPsych) {
    const multiplayer = findMultiplayer(jsPsych);
    await multiplayer?.connect(makeAdapter(CoplayPlugin));
    return multiplayer !== undefined;
  }

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  /** Shows the study, and ends the trial when the study says that it has ended. */
  trial(display, trial) {
    const begun = performance.now();
    const on = (event, news) => {
      if (event === 'ended') {
        const { outcome, code, receipt } = news;
        const { episodes } = study;
        return this.jsPsych.finishTrial({ outcome, code, receipt, episodes, rt: Math.round(performance.now() - begun) });
      }
      trial[`on_${event}`]?.(news);
      if (event !== 'episode') CoplayPlugin.#listeners.forEach(listener => listener());
    };
    const { height, title } = trial;
    const study = new Study(parseAddress(trial.url), { height, title, on });
    CoplayPlugin.#study = study;
    display.replaceChildren(study.frame);
    study.frame.focus();
  }
};
