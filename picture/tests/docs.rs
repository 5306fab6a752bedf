//! The pictures of the documents, one an environment, in `docs/pictures`: what the environments look like today.
//! `UPDATE_GOLDEN=1` writes them again.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::{env, fs};

use env_core::draw::DrawList;
use env_core::envs;
use picture::Renderer;

#[test]
fn the_pictures_of_the_documents_are_those_of_the_environments() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    let mut stale = Vec::new();
    for id in envs::IDS {
        let mut world = envs::open(id, "{}").unwrap();
        world.reset(1);
        let mut list = DrawList::default();
        world.draw(None, &mut list);
        let sprites = envs::sprites_of(id).unwrap();
        let renderer = Renderer::new(sprites.iter().map(|sprite| (sprite.name, sprite.svg)));
        let svg = renderer.unwrap().svg(&list, &world.spec().title);
        let file = folder.join(format!("{id}.svg"));
        if fs::read_to_string(&file).is_ok_and(|kept| kept == svg) {
            continue;
        }
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, svg).unwrap();
        } else {
            stale.push(id);
        }
    }
    assert!(
        stale.is_empty(),
        "look at them, then UPDATE_GOLDEN=1: {stale:?}"
    );
}
