//! A database that is gone, beside episodes that are there.

use std::fs;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "database-missing";
pub(crate) const TRIES: &str =
    "The database is gone, empty or from another day, and the episodes are still there.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let state = variant.choose("database", &["gone", "empty file", "new"]);
    let command = variant.choose("command", &["verify", "export", "pay"]);
    world.serve(&Study::pair(60, 10), &[]).await?;
    world.play_honestly().await?;
    world.stop().await?;
    let data = world.data();
    let database = data.join("coplay.sqlite");
    for name in ["coplay.sqlite", "coplay.sqlite-wal", "coplay.sqlite-shm"] {
        // Some of them are not there once the server has stopped.
        let _ = fs::remove_file(data.join(name));
    }
    if state == "empty file" {
        fs::write(&database, b"")?;
    }
    // A server that starts makes a new one, if it starts.
    if state == "new" && world.start(&[]).await.is_ok() {
        world.stop().await?;
    }
    let (folder, out) = (data.to_string_lossy(), world.path("out"));
    let out = out.to_string_lossy();
    let arguments = match command {
        "export" => vec!["export", "--data", &folder, "--out", &out],
        command => vec![command, "--data", &folder],
    };
    let output = world.coplay(&arguments).await?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().replace('\n', " | ");
    let code = output.status.code();
    let seen = format!("`coplay {command}` exits with {code:?}: {said}");
    Ok(Observed::broken_if(code == Some(0), seen))
}
