//! The gamepads that the browser knows.

use wasm_bindgen::JsCast as _;
use web_sys::{Gamepad, GamepadButton, GamepadMappingType};

use super::dom;
use crate::episode::gamepads::list_pressed;

/// The codes of all buttons that are down, of gamepads with the standard mapping; empty if a browser has no gamepads.
pub(crate) fn read_gamepads() -> Vec<&'static str> {
    let Ok(pads) = dom::window().navigator().get_gamepads() else {
        return Vec::new();
    };
    let pads = pads.iter().filter_map(|pad| pad.dyn_into::<Gamepad>().ok());
    let standard = pads.filter(|pad| pad.mapping() == GamepadMappingType::Standard);
    standard.flat_map(|pad| read(&pad)).collect()
}

fn read(pad: &Gamepad) -> Vec<&'static str> {
    let buttons = pad.buttons().to_vec();
    let is_down = |button| GamepadButton::unchecked_from_js(button).pressed();
    let axes = pad.axes();
    let axis = |at| axes.get(at).as_f64().unwrap_or(0.0);
    list_pressed(buttons.into_iter().map(is_down), [axis(0), axis(1)])
}
