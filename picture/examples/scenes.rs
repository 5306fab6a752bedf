//! Draws scenes to files, for eyes and for the test that compares them with the browser's canvas.
//!
//! `cargo run -p picture --example scenes -- FOLDER [PIXELS_A_CELL]` writes for each scene `NAME.sprites.json`
//! and `NAME.list` (what a canvas needs), `NAME.png`, `NAME.svg`, and `NAME.without.png`, which lacks the last item.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use env_core::draw::{DrawList, Shape, Sprite};
use env_core::rng::Rng;
use env_core::{art, envs};
use picture::Renderer;

/// Steps of an episode before its picture is taken.
const STEPS: u32 = 120;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let folder = PathBuf::from(args.next().ok_or("say where to: scenes FOLDER [PIXELS]")?);
    let scale = args.next().map_or(Ok(48), |scale| scale.parse())?;
    fs::create_dir_all(&folder)?;
    for id in envs::IDS {
        write(&folder, id, scale, envs::sprites_of(id)?, &episode(id)?)?;
    }
    let all = art!["*"];
    write(&folder, "art", scale, all, &gallery(all))?;
    write(&folder, "shapes", scale, art!["pot", "onion"], &shapes())?;
    write(&folder, "text", scale, &[], &text())
}

fn write(
    folder: &Path,
    name: &str,
    scale: u32,
    sprites: &[Sprite],
    list: &DrawList,
) -> Result<(), Box<dyn Error>> {
    let mut renderer = Renderer::new(sprites.iter().map(|sprite| (sprite.name, sprite.svg)))?;
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    fs::write(file("sprites.json"), serde_json::to_string(sprites)?)?;
    fs::write(file("list"), postcard::to_allocvec(list)?)?;
    fs::write(file("png"), renderer.png(list, scale)?)?;
    fs::write(file("svg"), renderer.svg(list, name))?;
    let mut without = list.clone();
    without.items.pop().ok_or("a scene without items")?;
    fs::write(file("without.png"), renderer.png(&without, scale)?)?;
    println!("{name}");
    Ok(())
}

/// An environment in the middle of an episode of random actions.
fn episode(id: &str) -> Result<DrawList, Box<dyn Error>> {
    let mut world = envs::open(id, "{}")?;
    let (seats, actions) = (world.spec().seats, world.spec().actions.len() as u32);
    let mut rng = Rng::new(1);
    for _ in 0..STEPS {
        let row: Vec<u16> = (0..seats).map(|_| rng.below(actions) as u16).collect();
        if world.step(&row).over {
            world.reset(2);
        }
    }
    let mut list = DrawList::default();
    world.draw(None, &mut list);
    // Words have a separate scene: in a browser, their font is the machine's.
    list.items
        .retain(|item| !matches!(item.shape, Shape::Text { .. }));
    Ok(list)
}

/// Every picture that there is, on a floor.
fn gallery(sprites: &[Sprite]) -> DrawList {
    const COLUMNS: usize = 12;
    let mut list = DrawList::default();
    let rows = sprites.len().div_ceil(COLUMNS);
    list.begin(COLUMNS as f32, rows as f32, 0xe6d7_bfff);
    for k in 0..sprites.len() {
        let place = [(k % COLUMNS) as f32, (k / COLUMNS) as f32, 1.0, 1.0];
        list.push(0, place, Shape::Sprite(k as u16));
    }
    list
}

/// Every shape, whole and in part, opaque and not, within the picture and across its edge.
fn shapes() -> DrawList {
    let mut list = DrawList::default();
    list.begin(6.0, 3.0, 0x2430_3cff);
    for (k, radius) in [0.0, 0.2, 9.0].into_iter().enumerate() {
        let color = [0xe553_2dff, 0x3b82_cfff, 0xffd2_5780][k];
        list.push(
            0,
            [0.1 + k as f32, 0.1, 0.8, 0.6],
            Shape::Rect { radius, color },
        );
    }
    list.push(
        0,
        [3.1, 0.1, 0.8, 0.5],
        Shape::Ellipse { color: 0x6faa_4bff },
    );
    list.push(
        0,
        [3.9, 0.3, 0.9, 0.9],
        Shape::Ellipse { color: 0xffff_ff60 },
    );
    for (k, part) in [0.0, 0.1, 0.25, 0.6, 0.95, 1.0].into_iter().enumerate() {
        let place = [0.1 + k as f32, 1.1, 0.8, 0.8];
        list.push(
            0,
            place,
            Shape::Progress {
                part,
                color: 0xffd2_57ff,
            },
        );
    }
    list.push(0, [5.6, 0.5, 0.9, 0.9], Shape::Sprite(99));
    list.push(0, [-0.4, 2.2, 1.0, 1.0], Shape::Sprite(0));
    list.push(0, [2.0, 2.1, 1.6, 0.8], Shape::Sprite(0));
    list.push(0, [4.3, 2.15, 0.62, 0.62], Shape::Sprite(1));
    list
}

/// Words and signs. Their font is that of the machine in a browser, and the one within here.
fn text() -> DrawList {
    let mut list = DrawList::default();
    list.begin(4.0, 2.0, 0x2430_3cff);
    for (k, text) in ["12", "<&>", "Äß", "→", "Go", "a b", "4 s", "■"]
        .into_iter()
        .enumerate()
    {
        let place = [(k % 4) as f32, (k / 4) as f32 + 0.2, 1.0, 0.6];
        let text = text.to_owned();
        list.push(
            0,
            place,
            Shape::Text {
                text,
                color: 0xffff_ffff,
            },
        );
    }
    list
}
