//! Arguments of `coplay erase`, `coplay backup` and `coplay restore`.

use std::path::PathBuf;

use clap::Args;

use super::args::data_folder;

/// Arguments of `coplay erase`.
#[derive(Debug, Args)]
#[command(after_help = "\
Stop the server first, and start it again afterwards; open pages then reconnect.
Deletes the episodes that the participant played alone. In episodes with others, the confirmed actions stay, because the
others' data need them: the seat is then called withdrawn. Everything else of the participant is deleted from every file and
from the database's log: answers, chat, key presses, times, shown frames, waits, the recruiter's identifier, the keys and
signatures of their page. The session, its outcome and its payment stay under the pseudonym.
If the study sets `on_withdraw: erase_group`, the episodes and the chat of the participant's groups are deleted, too.
`coplay verify` still verifies the other seats. Later exports and backups do not contain these data; delete earlier ones
yourself.
The database records each use in its audit trail.

Examples:
  coplay erase P-7Q2MXK40 --data /srv/my-study
  coplay erase 5f1c0a2b3c4d5e6f7a8b9c0d --data /srv/my-study --json
      By the recruiter's identifier.")]
pub struct EraseArgs {
    /// The participant: a pseudonym, a session, a reference number, or the recruiter's identifier.
    pub participant: String,
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Also erase a participant whose payment is due or whose session is open; payment is then impossible.
    #[arg(long)]
    pub unpaid: bool,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `coplay backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
Works with and without a running server. The archive is the data folder as it was at one moment; a server that starts
with it continues as after a power failure at that moment. The archive gets its name when it is complete. Only its owner
can read it.
Where several servers share a PostgreSQL database, name the data folder of one of them: rows and logs are read from the
database and the object store, and the archive is a data folder that one server can run alone. --out then needs twice the
room for a while.
The key of recruiters' identifiers is not in it: keep a copy of that file in another place.

Examples:
  coplay backup --data /srv/my-study --out /mnt/backup/my-study.tar
  coplay restore /mnt/backup/my-study.tar --data /srv/restored
      Restore it into a new folder. Then start the server with --data /srv/restored.")]
pub struct BackupArgs {
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// File to write, an archive that `tar` reads.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `coplay restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Makes a new data folder from an archive of `coplay backup`. The folder gets its name when it is complete.
With --database, the study goes into an empty PostgreSQL database, wherever the backup came from, and the folder names it:
start servers with the same --database, and with this data folder or new ones. So a study moves from one server to
several, and without --database from several servers to one.
People who withdrew or were erased after the backup are in it: erase them again.

Examples:
  coplay restore /mnt/backup/my-study.tar --data /srv/restored
  coplay restore my-study.tar --data /srv/restored --database \"postgres://coplay@db.example.edu/new\"")]
pub struct RestoreArgs {
    /// Archive of `coplay backup`.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Data folder to make.
    #[arg(long, value_parser = data_folder())]
    pub data: PathBuf,
    /// Address of an empty PostgreSQL database for several servers. Without it, the folder has its own database.
    #[arg(long, value_name = "ADDRESS")]
    pub database: Option<String>,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}
