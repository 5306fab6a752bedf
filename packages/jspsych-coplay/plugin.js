// The plugin, made for the parameter types of the jsPsych that runs it.

/** The type of the message by which a study tells the page around it how it has ended. */
const ENDED = 'coplay.ended';

/** Makes the class of the plugin. `ParameterType` is jsPsych's. */
export const makePlugin = ParameterType => class CoplayPlugin {
  static info = {
    name: 'coplay',
    version: '0.1.0',
    parameters: {
      /** The participant link, or the address of a study with the identifiers of the participant. */
      url: { type: ParameterType.STRING, default: undefined },
      /** Height of the study, in CSS pixels; the width is that of jsPsych's display. */
      height: { type: ParameterType.INT, default: 640 },
      /** The name of the study for screen readers. */
      title: { type: ParameterType.STRING, default: 'Study' },
    },
    data: {
      /** How the study has ended: `completed`, `partner_left`, `no_consent` and so on. */
      outcome: { type: ParameterType.STRING },
      /** The completion code; empty if the study has none. */
      code: { type: ParameterType.STRING },
      /** The number of the visit, by which the participant is found in the data of Coplay. */
      receipt: { type: ParameterType.STRING },
      /** Milliseconds from the start of the trial to the end of the study. */
      rt: { type: ParameterType.INT },
    },
  };

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  /** Shows the study, and ends the trial when the study says that it has ended. */
  trial(display, { url, height, title }) {
    const begun = performance.now();
    let address;
    try {
      address = new URL(url, location.href);
    } catch {
      throw new Error(`jspsych-coplay: url is ${JSON.stringify(url)}; set it to a participant link, such as https://study.example.edu/?s=TOKEN`);
    }
    const frame = document.createElement('iframe');
    frame.src = address.href;
    frame.title = title;
    frame.allow = 'fullscreen; gamepad; clipboard-write';
    frame.style.cssText = `width: 100%; min-width: min(900px, 96vw); height: ${height}px; border: 0;`;
    const hear = ({ origin, source, data }) => {
      if (origin !== address.origin || source !== frame.contentWindow || data?.type !== ENDED) return;
      removeEventListener('message', hear);
      frame.remove();
      const { outcome, code, receipt } = data;
      this.jsPsych.finishTrial({ outcome, code, receipt, rt: Math.round(performance.now() - begun) });
    };
    addEventListener('message', hear);
    display.replaceChildren(frame);
    frame.focus();
  }
};
