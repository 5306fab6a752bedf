//! Short tones, made and not loaded. A browser plays them once the person has touched the page; before, they are silent.

use web_sys::{AudioContext, OscillatorType};

use crate::shell::dom;

/// The loudest, where 1 is all that the speakers give.
const LOUDNESS: f32 = 0.08;

/// The partners are here.
pub(crate) fn play_match() {
    play(&[523.25, 659.25, 783.99]);
}

/// The person is asked something.
pub(crate) fn play_question() {
    play(&[659.25, 523.25]);
}

/// Plays tones of these frequencies, one after the other. Nobody misses them if there is no sound.
fn play(tones_hz: &[f32]) {
    if tones(tones_hz).is_err() {
        dom::set_mark("coplay-no-sound");
    }
}

fn tones(tones_hz: &[f32]) -> Result<(), wasm_bindgen::JsValue> {
    let context = AudioContext::new()?;
    let loudness = context.create_gain()?;
    loudness.connect_with_audio_node(&context.destination())?;
    for (number, hz) in tones_hz.iter().enumerate() {
        let from = context.current_time() + 0.14 * number as f64;
        let tone = context.create_oscillator()?;
        tone.set_type(OscillatorType::Sine);
        tone.frequency().set_value(*hz);
        tone.connect_with_audio_node(&loudness)?;
        // It swells and fades, so that nothing clicks.
        loudness.gain().set_value_at_time(0.0, from)?;
        loudness
            .gain()
            .linear_ramp_to_value_at_time(LOUDNESS, from + 0.02)?;
        loudness
            .gain()
            .linear_ramp_to_value_at_time(0.0, from + 0.13)?;
        tone.start_with_when(from)?;
        tone.stop_with_when(from + 0.14)?;
    }
    Ok(())
}
