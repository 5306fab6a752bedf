//! A picture on a canvas without a session: a draw list as a participant would see it.
//!
//! The end-to-end tests compare it with the native picture.

use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::episode::view::View;

/// A seat of nobody, so that no arrow points at one.
const NOBODY: usize = u16::MAX as usize;

/// A canvas that shows each draw list immediately.
#[wasm_bindgen]
pub struct StaticPicture {
    view: View,
}

#[wasm_bindgen]
impl StaticPicture {
    /// Takes over a canvas; the sprites are those of a module's facts, as JSON.
    ///
    /// # Errors
    /// A sentence, if the element is not a canvas or the sprites cannot be read.
    #[wasm_bindgen(constructor)]
    pub fn new(canvas: HtmlElement, sprites: &str) -> Result<StaticPicture, JsValue> {
        let sprites: Vec<crate::episode::module::Sprite> =
            serde_json::from_str(sprites).map_err(|error| error.to_string())?;
        let view = View::new(canvas, &sprites, NOBODY)?;
        Ok(Self { view })
    }

    /// True if every sprite has loaded.
    pub fn is_complete(&self) -> bool {
        self.view.is_complete()
    }

    /// Shows a draw list, given as the bytes of `coplay_draw`.
    ///
    /// # Errors
    /// A sentence, if the bytes are no draw list.
    pub fn show(&mut self, list: &[u8]) -> Result<(), JsValue> {
        *self.view.list_mut() = postcard::from_bytes(list).map_err(|error| error.to_string())?;
        self.view.aim_picture(0.0, 0.0);
        self.view.draw_frame(0.0);
        Ok(())
    }
}
