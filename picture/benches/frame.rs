//! Measures the cost of a picture of the cramped room on one core, as pixels and as a file.
//!
//! Prints one JSON object a line: `{"name", "value", "unit"}`. A figure is the best of many rounds,
//! because other work on the machine only ever adds time; every picture is asserted to show something else.

use std::time::Instant;

use env_core::draw::DrawList;
use picture::Renderer;

const ROUNDS: u32 = 300;

fn main() {
    let mut world = env_core::envs::open("overcooked", "{}").expect("the defaults are accepted");
    let sprites = env_core::envs::sprites_of("overcooked").expect("it exists");
    let read = Instant::now();
    let mut renderer = Renderer::new(sprites.iter().map(|sprite| (sprite.name, sprite.svg)))
        .expect("these are shapes");
    tell("picture_sprites_read", ms(read), "ms");
    for scale in [32, 64] {
        let (mut best, mut first) = (f64::MAX, 0.0);
        let mut last = None;
        for round in 0..ROUNDS {
            world.reset(round.into());
            let mut list = DrawList::default();
            world.draw(None, &mut list);
            let start = Instant::now();
            let picture = renderer.rgb(&list, scale).expect("the room is small");
            let took = ms(start);
            if round == 0 {
                first = took;
            }
            best = f64::min(best, took);
            assert_eq!(
                picture.pixels.len() as u32,
                picture.width * picture.height * 3
            );
            last = Some(picture);
        }
        assert!(last.is_some_and(|picture| picture.pixels.iter().any(|&part| part != 255)));
        tell(&format!("picture_rgb_{scale}px_first"), first, "ms");
        tell(&format!("picture_rgb_{scale}px"), best, "ms");
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn tell(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name":"{name}","value":{value:.4},"unit":"{unit}"}}"#);
}
