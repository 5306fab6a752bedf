//! Writes the seeds of every target into `corpus/`: to be run when the wire types changed.

use std::fs;
use std::io::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    for (target, _) in fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(target);
        fs::create_dir_all(&folder)?;
        let seeds = fuzz::seeds(target);
        for (name, bytes) in &seeds {
            fs::write(folder.join(name), bytes)?;
        }
        writeln!(
            std::io::stdout(),
            "{} seeds in {}",
            seeds.len(),
            folder.display()
        )?;
    }
    Ok(())
}
