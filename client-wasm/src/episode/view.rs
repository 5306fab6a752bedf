//! The picture of the world: draw lists on a canvas at the resolution of the screen, with gliding items.
//!
//! This module must not know of sessions or networks; it is given pictures and the time by which they hold.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::rc::Rc;

use env_core::draw::{DrawItem, DrawList, Shape};
use js_sys::Array;
use wasm_bindgen::Clamped;
use wasm_bindgen::prelude::*;
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, Event, HtmlCanvasElement, HtmlElement,
    HtmlImageElement, ImageData, Url,
};

use crate::episode::module::Sprite;
use crate::episode::tween::{Box4, Tween};
use crate::shell::dom;

/// Rasterised sprites kept; more than a world shows at a few sizes.
const RASTERS: usize = 512;

/// A sprite on its way from document to pixels.
struct Picture {
    image: HtmlImageElement,
    loaded: Rc<Cell<bool>>,
}

/// The place of cells on the canvas, in device pixels.
#[derive(Clone, Copy, Default, PartialEq)]
struct Frame {
    scale: f64,
    left: f64,
    top: f64,
}

/// A picture as it stands on the canvas.
struct Drawing {
    list: DrawList,
    /// The items' places on the canvas, device pixels.
    places: Vec<[f64; 4]>,
    /// Sprites that were there.
    loaded: usize,
}

/// The canvas of an episode.
pub(crate) struct View {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    pictures: Vec<Picture>,
    /// Sprites as pixels, by index and size.
    rasters: BTreeMap<(u16, u32, u32), HtmlCanvasElement>,
    list: DrawList,
    tween: Tween,
    size: (u32, u32),
    /// The item that stands for the person at this page.
    own: u32,
    /// The last drawing; `None` if the canvas is empty.
    drawing: Option<Drawing>,
    /// True if the browser took the picture away.
    is_lost: Rc<Cell<bool>>,
}

impl View {
    /// A view on a canvas, for the person in a seat; the sprites load in the background.
    ///
    /// # Errors
    /// The browser's error, if the canvas has no 2D context.
    pub(crate) fn new(
        canvas: HtmlElement,
        sprites: &[Sprite],
        seat: usize,
    ) -> Result<Self, JsValue> {
        let canvas: HtmlCanvasElement = canvas.unchecked_into();
        let context = canvas
            .get_context("2d")?
            .ok_or("this canvas has no 2D context")?
            .unchecked_into();
        let pictures = sprites.iter().map(picture).collect::<Result<_, _>>()?;
        let is_lost = Rc::new(Cell::new(false));
        let lost = Rc::clone(&is_lost);
        dom::add_listener(&canvas, "contextrestored", move |_: Event| lost.set(true));
        Ok(Self {
            canvas,
            context,
            pictures,
            rasters: BTreeMap::new(),
            list: DrawList::default(),
            tween: Tween::default(),
            size: (0, 0),
            own: seat as u32 + 1,
            drawing: None,
            is_lost,
        })
    }

    /// The picture to be filled next, and shown by [`View::aim_picture`].
    pub(crate) fn list_mut(&mut self) -> &mut DrawList {
        &mut self.list
    }

    /// Sends the items of the picture to their places, to be there at `until_ms`.
    pub(crate) fn aim_picture(&mut self, now_ms: f64, until_ms: f64) {
        self.tween.set_target(&self.list, now_ms, until_ms);
    }

    /// True if every sprite is there.
    pub(crate) fn is_complete(&self) -> bool {
        self.pictures.iter().all(|picture| picture.loaded.get())
    }

    /// Draws the picture as of `now_ms`, unless it stands on the canvas already.
    pub(crate) fn draw_frame(&mut self, now_ms: f64) {
        let frame = self.fit();
        if frame.scale <= 0.0 || !frame.scale.is_finite() {
            return;
        }
        let (items, tween) = (&self.list.items, &self.tween);
        let place = |item: &DrawItem| place(tween.box_at(item, now_ms), frame);
        let places: Vec<_> = items.iter().map(place).collect();
        let loaded = self.pictures.iter().filter(|picture| picture.loaded.get());
        let loaded = loaded.count();
        let is_same = self.drawing.as_ref().is_some_and(|old| {
            old.places == places && old.loaded == loaded && old.list == self.list
        });
        if is_same && !self.is_lost.take() {
            return;
        }
        let drawing = Drawing {
            list: self.list.clone(),
            places,
            loaded,
        };
        self.draw_picture(&drawing, frame);
        self.drawing = Some(drawing);
    }

    /// Draws everything again.
    fn draw_picture(&mut self, drawing: &Drawing, frame: Frame) {
        let list = &drawing.list;
        self.context
            .clear_rect(0.0, 0.0, f64::from(self.size.0), f64::from(self.size.1));
        let [x, y, w, h] = place([0.0, 0.0, list.width, list.height], frame);
        self.context.set_fill_style_str(&color(list.background));
        self.context.fill_rect(x, y, w, h);
        for (item, place) in list.items.iter().zip(&drawing.places) {
            self.draw(item, *place);
        }
        let mut items = list.items.iter().zip(&drawing.places);
        if let Some((_, [x, y, w, _])) = items.find(|(item, _)| item.id == self.own) {
            self.point_at(x + w / 2.0, *y, frame.scale * 0.11);
        }
    }

    /// Width and height of the picture on the screen, pixels; 0 before the first frame.
    pub(crate) fn size(&self) -> [u16; 2] {
        [self.size.0, self.size.1].map(|edge| edge.try_into().unwrap_or(u16::MAX))
    }

    /// A point of the picture by the parts of its width and height before it, in 65,536ths.
    pub(crate) fn parts_of(&self, point: [f32; 2]) -> [u16; 2] {
        let part = |at: f32, of: f32| (at / of * 65_536.0) as u16;
        [
            part(point[0], self.list.width),
            part(point[1], self.list.height),
        ]
    }

    /// The point of the picture under a point of the canvas in CSS pixels, in cells; `None` beside the picture.
    pub(crate) fn point_under(&mut self, at: [f64; 2]) -> Option<[f32; 2]> {
        let (frame, ratio) = (self.fit(), dom::window().device_pixel_ratio());
        let cells = |css: f64, margin: f64| ((css * ratio - margin) / frame.scale) as f32;
        let [x, y] = [cells(at[0], frame.left), cells(at[1], frame.top)];
        let inside = (0.0..self.list.width).contains(&x) && (0.0..self.list.height).contains(&y);
        inside.then_some([x, y])
    }

    /// Makes the canvas as fine as the screen, and the world as large as the canvas.
    fn fit(&mut self) -> Frame {
        let ratio = dom::window().device_pixel_ratio();
        let pixels = |css: i32| (f64::from(css) * ratio).round() as u32;
        let size = (
            pixels(self.canvas.client_width()),
            pixels(self.canvas.client_height()),
        );
        if size != self.size {
            self.size = size;
            self.canvas.set_width(size.0);
            self.canvas.set_height(size.1);
            self.rasters.clear();
            self.drawing = None;
        }
        let (width, height) = (f64::from(self.list.width), f64::from(self.list.height));
        // Whole pixels a cell, so that neighbouring tiles meet.
        let scale = (f64::from(size.0) / width)
            .min(f64::from(size.1) / height)
            .floor();
        let margin = |pixels: u32, cells: f64| ((f64::from(pixels) - cells * scale) / 2.0).floor();
        Frame {
            scale,
            left: margin(size.0, width),
            top: margin(size.1, height),
        }
    }

    /// An arrow with its tip at a point: this is you.
    fn point_at(&self, x: f64, y: f64, size: f64) {
        let context = &self.context;
        context.begin_path();
        context.move_to(x - size, y - size * 1.2);
        context.line_to(x + size, y - size * 1.2);
        context.line_to(x, y);
        context.close_path();
        context.set_line_join("round");
        context.set_line_width(size * 0.6);
        context.set_stroke_style_str("#1d2731");
        context.stroke();
        context.set_fill_style_str("#ffd257");
        context.fill();
    }

    fn draw(&mut self, item: &DrawItem, place: [f64; 4]) {
        let [x, y, w, h] = place;
        let context = &self.context;
        match &item.shape {
            Shape::Sprite(index) => self.sprite(*index, place),
            Shape::Rect {
                radius,
                color: fill,
            } => {
                let cells = f64::from(item.w);
                let radius = if cells > 0.0 {
                    f64::from(*radius) * w / cells
                } else {
                    0.0
                };
                round_rect(context, place, radius);
                context.set_fill_style_str(&color(*fill));
                context.fill();
            }
            Shape::Ellipse { color: fill } => {
                context.begin_path();
                context
                    .ellipse(x + w / 2.0, y + h / 2.0, w / 2.0, h / 2.0, 0.0, 0.0, TAU)
                    .ok();
                context.set_fill_style_str(&color(*fill));
                context.fill();
            }
            Shape::Progress {
                part,
                color: stroke,
            } => {
                let width = w.min(h) * 0.16;
                let part = f64::from(part.clamp(0.0, 1.0));
                context.begin_path();
                let radius = ((w.min(h) - width) / 2.0).max(0.0);
                context
                    .arc(
                        x + w / 2.0,
                        y + h / 2.0,
                        radius,
                        -FRAC_PI_2,
                        TAU * part - FRAC_PI_2,
                    )
                    .ok();
                context.set_line_width(width);
                context.set_stroke_style_str(&color(*stroke));
                context.stroke();
            }
            Shape::Pixels { width, height, rgb } => {
                draw_pixels(context, place, [*width, *height], rgb).ok();
            }
            Shape::Text { text, color: fill } => {
                context.set_font(&format!("600 {h}px system-ui, sans-serif"));
                context.set_text_align("center");
                context.set_text_baseline("middle");
                context.set_fill_style_str(&color(*fill));
                context.fill_text(text, x + w / 2.0, y + h / 2.0).ok();
            }
        }
    }

    fn sprite(&mut self, index: u16, place: [f64; 4]) {
        let [x, y, w, h] = place;
        let key = (index, w.round() as u32, h.round() as u32);
        let loaded = self
            .pictures
            .get(usize::from(index))
            .filter(|picture| picture.loaded.get());
        let Some(picture) = loaded.filter(|_| key.1 > 0 && key.2 > 0) else {
            round_rect(&self.context, place, w / 6.0);
            self.context.set_fill_style_str("#9995");
            self.context.fill();
            return;
        };
        if self.rasters.len() > RASTERS {
            self.rasters.clear();
        }
        if !self.rasters.contains_key(&key)
            && let Some(raster) = rasterise(&picture.image, key.1, key.2)
        {
            self.rasters.insert(key, raster);
        }
        if let Some(raster) = self.rasters.get(&key) {
            self.context
                .draw_image_with_html_canvas_element(raster, x.round(), y.round())
                .ok();
        }
    }
}

fn place(cells: Box4, frame: Frame) -> [f64; 4] {
    let [x, y, w, h] = cells.map(|value| f64::from(value) * frame.scale);
    [frame.left + x, frame.top + y, w, h]
}

fn color(rgba: u32) -> String {
    format!("#{rgba:08x}")
}

fn round_rect(context: &CanvasRenderingContext2d, [x, y, w, h]: [f64; 4], radius: f64) {
    let r = radius.min(w / 2.0).min(h / 2.0).max(0.0);
    let corners = [
        (x + w - r, y + r, -FRAC_PI_2),
        (x + w - r, y + h - r, 0.0),
        (x + r, y + h - r, FRAC_PI_2),
    ];
    context.begin_path();
    for (cx, cy, start) in corners.into_iter().chain([(x + r, y + r, PI)]) {
        context.arc(cx, cy, r, start, start + FRAC_PI_2).ok();
    }
    context.close_path();
}

fn picture(sprite: &Sprite) -> Result<Picture, JsValue> {
    let properties = BlobPropertyBag::new();
    properties.set_type("image/svg+xml");
    let parts = Array::of1(&sized(&sprite.svg).into());
    let blob = Blob::new_with_str_sequence_and_options(&parts, &properties)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let image = HtmlImageElement::new()?;
    let loaded = Rc::new(Cell::new(false));
    let flag = Rc::clone(&loaded);
    dom::add_listener(&image, "load", move |_: Event| flag.set(true));
    image.set_src(&url);
    Ok(Picture { image, loaded })
}

/// The document with its own size: some browsers draw nothing without one.
fn sized(svg: &str) -> String {
    let head = svg
        .find("<svg")
        .and_then(|start| Some((start, start + svg[start..].find('>')?)));
    match head {
        Some((start, end)) if !svg[start..end].contains(" width=") => {
            let [width, height] = view_box(&svg[start..end]).unwrap_or([64.0, 64.0]);
            let (before, after) = svg.split_at(start + "<svg".len());
            format!("{before} width=\"{width}\" height=\"{height}\"{after}")
        }
        _ => svg.to_owned(),
    }
}

/// Width and height of the view box in the first tag of a document.
fn view_box(tag: &str) -> Option<[f64; 2]> {
    let numbers = tag.split("viewBox=").nth(1)?.split(['"', '\'']).nth(1)?;
    let mut numbers = numbers
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .skip(2);
    let mut next = || {
        numbers
            .next()?
            .parse::<f64>()
            .ok()
            .filter(|size| *size > 0.0)
    };
    Some([next()?, next()?])
}

/// Draws pixels into a box, with sharp edges.
fn draw_pixels(
    context: &CanvasRenderingContext2d,
    [x, y, w, h]: [f64; 4],
    [width, height]: [u16; 2],
    rgb: &[u8],
) -> Result<(), JsValue> {
    let pixels = rgb.chunks_exact(3);
    let rgba: Vec<u8> = pixels.flat_map(|of| [of[0], of[1], of[2], 255]).collect();
    let (width, height) = (u32::from(width), u32::from(height));
    let data =
        ImageData::new_with_u8_clamped_array_and_sh(Clamped(rgba.as_slice()), width, height)?;
    let canvas: HtmlCanvasElement = dom::document().create_element("canvas")?.unchecked_into();
    canvas.set_width(width);
    canvas.set_height(height);
    let Some(inner) = canvas.get_context("2d")? else {
        return Ok(());
    };
    let inner: CanvasRenderingContext2d = inner.unchecked_into();
    inner.put_image_data(&data, 0.0, 0.0)?;
    context.set_image_smoothing_enabled(false);
    let drawn = context.draw_image_with_html_canvas_element_and_dw_and_dh(&canvas, x, y, w, h);
    context.set_image_smoothing_enabled(true);
    drawn
}

fn rasterise(image: &HtmlImageElement, width: u32, height: u32) -> Option<HtmlCanvasElement> {
    let canvas: HtmlCanvasElement = dom::make_element("canvas").unchecked_into();
    canvas.set_width(width);
    canvas.set_height(height);
    let context: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.unchecked_into();
    let (w, h) = (f64::from(width), f64::from(height));
    context
        .draw_image_with_html_image_element_and_dw_and_dh(image, 0.0, 0.0, w, h)
        .ok()?;
    Some(canvas)
}
