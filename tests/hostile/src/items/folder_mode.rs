//! Other users of the machine read the data folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "folder-mode";
pub(crate) const TRIES: &str = "Another user of the machine opens the data folder.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let umask = variant.choose("umask", &["022", "002", "000"]);
    let before = variant.choose("folder", &["new", "there with 755", "there with 777"]);
    Study::questions().write(&world.study())?;
    let mode = match before {
        "there with 755" => Some(0o755),
        "there with 777" => Some(0o777),
        _ => None,
    };
    if let Some(mode) = mode {
        fs::create_dir(world.data())?;
        fs::set_permissions(world.data(), fs::Permissions::from_mode(mode))?;
    }
    world.start_after(&format!("umask {umask}"), &[]).await?;
    let found = fs::metadata(world.data())?.permissions().mode() & 0o777;
    let seen = format!("the data folder has mode {found:04o}");
    Ok(Observed::broken_if(found & 0o077 != 0, seen))
}
