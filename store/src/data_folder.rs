//! The data folder: `episodes/`, `modules/`, `networks/`, `studies/`, `coplay.sqlite`, its secrets, and the lock that one server holds.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use protocol::hash::sha256_hex;
use study::Study;
use study::stage::{CERTIFICATE, CompiledModel};

use crate::database::FILE;
use crate::servers::{EpisodeFiles, StudyLease};

/// The file that marks a data folder in which only bots and agents took part.
const REHEARSAL: &str = "rehearsal";

/// Bytes of a file, from the program or from the disk.
pub type Bytes = Cow<'static, [u8]>;

/// An environment as a WebAssembly module.
#[derive(Clone, Debug)]
pub struct EnvModule {
    /// Environment id.
    pub env: String,
    /// SHA-256, lower-case hex.
    pub hash: String,
    /// The module.
    pub bytes: Bytes,
}

/// A data folder that this process alone writes to.
#[derive(Debug)]
pub struct DataDir {
    dir: PathBuf,
    /// The lease of the study, if several servers share it.
    lease: Option<StudyLease>,
    /// Held until the folder is dropped.
    _lock: File,
}

/// The reason why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Another process has it.
    #[error("another coplay uses the data folder {}; stop it, or name another folder with --data", .0.display())]
    Locked(PathBuf),
    /// Bots or agents took part in it.
    #[error("{} has data of bots or agents, and data of people must not be added to it; choose another folder with --data", .0.display())]
    Rehearsal(PathBuf),
    /// The disk refused.
    #[error("the data folder {} cannot be used: {error}", .dir.display())]
    Io {
        /// The folder.
        dir: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl DataDir {
    /// Makes the folder where it is missing, and locks it.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn open(dir: &Path) -> Result<Self, DataError> {
        let failed = |error| DataError::Io {
            dir: dir.into(),
            error,
        };
        fs::create_dir_all(dir).map_err(failed)?;
        // Before anything is in it.
        keep_private(dir).map_err(failed)?;
        for part in ["episodes", "modules", "networks"] {
            fs::create_dir_all(dir.join(part)).map_err(failed)?;
        }
        let lock = File::create(dir.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                dir: dir.into(),
                lease: None,
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(DataError::Locked(dir.into())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// The lease of the study; `None` if the folder has its own database, or nothing has taken the study over.
    pub fn lease(&self) -> Option<&StudyLease> {
        self.lease.as_ref()
    }

    pub(crate) fn set_lease(&mut self, lease: StudyLease) {
        self.lease = Some(lease);
    }

    /// Returns where the logs of episodes are written.
    pub fn episode_files(&self) -> EpisodeFiles {
        EpisodeFiles::new(self.episodes(), self.lease.as_ref().map(StudyLease::logs))
    }

    /// Folder of the episode files.
    pub fn episodes(&self) -> PathBuf {
        self.dir.join("episodes")
    }

    /// Folder of the environment modules, each under its hash.
    pub fn modules_folder(&self) -> PathBuf {
        self.dir.join("modules")
    }

    /// Folder of the networks of AI partners, each under its hash.
    pub fn models_folder(&self) -> PathBuf {
        self.dir.join("networks")
    }

    /// Keeps the network of an AI partner under its hash.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn store_model(&self, network: &CompiledModel) -> Result<(), DataError> {
        let path = self
            .models_folder()
            .join(format!("{}.network", network.sha256));
        let mut options = OpenOptions::new();
        let mut kept = write_once(&path, options.write(true), &network.bytes);
        if let Some(certificate) = &network.certificate {
            // Its own hash is in its name: a model can have been compared more than once.
            let name = format!(
                "{}.{}{CERTIFICATE}",
                network.sha256,
                &sha256_hex(certificate)[..8]
            );
            let mut options = OpenOptions::new();
            let beside = write_once(
                &self.models_folder().join(name),
                options.write(true),
                certificate,
            );
            kept = kept.and(beside);
        }
        kept.map_err(|error| DataError::Io {
            dir: self.dir.clone(),
            error,
        })
    }

    /// Stores the module of an environment under its hash.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn store_module(&self, env: &str, bytes: Bytes) -> Result<EnvModule, DataError> {
        let hash = sha256_hex(&bytes);
        let path = self.modules_folder().join(format!("{hash}.wasm"));
        let mut options = OpenOptions::new();
        write_once(&path, options.write(true), &bytes).map_err(|error| DataError::Io {
            dir: self.dir.clone(),
            error,
        })?;
        Ok(EnvModule {
            env: env.into(),
            hash,
            bytes,
        })
    }

    /// Stores the facts of a hosted environment that pages get, under their hash.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn store_facts(&self, facts: &str) -> Result<(), DataError> {
        let name = format!("{}.facts", sha256_hex(facts.as_bytes()));
        let mut options = OpenOptions::new();
        let stored = write_once(
            &self.modules_folder().join(name),
            options.write(true),
            facts.as_bytes(),
        );
        stored.map_err(|error| DataError::Io {
            dir: self.dir.clone(),
            error,
        })
    }

    /// Keeps a study in canonical form under its hash.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn store_study(&self, study: &Study) -> Result<(), DataError> {
        let path = self.study(&study.hash);
        let mut options = OpenOptions::new();
        let kept = fs::create_dir_all(self.dir.join("studies"))
            .and_then(|()| write_once(&path, options.write(true), study.canonical.as_bytes()));
        kept.map_err(|error| DataError::Io {
            dir: self.dir.clone(),
            error,
        })
    }

    /// File of a study in canonical form, by its hash.
    pub fn study(&self, hash: &str) -> PathBuf {
        self.dir.join("studies").join(format!("{hash}.json"))
    }

    /// Plays the clips of AI partners that a study shows, and keeps their logs beside the study, and their modules.
    ///
    /// # Errors
    /// A clip cannot be played, or [`DataError::Io`].
    pub fn store_clips(&self, study: &Study) -> anyhow::Result<()> {
        for (env, file) in study.clip_modules() {
            self.store_module(env, file.bytes.clone().into())?;
        }
        let path = |stage: &str, number| clip_file(&self.dir, &study.hash, stage, number);
        let clips = archive::play_clips(study, |stage, number| path(stage, number).is_file())?;
        for clip in clips {
            let path = path(&clip.stage, clip.number);
            let mut options = OpenOptions::new();
            write_once(&path, options.write(true), &clip.log)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Marks the folder as one in which only bots and agents take part.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn mark_rehearsal(&self) -> Result<(), DataError> {
        fs::write(self.dir.join(REHEARSAL), "").map_err(|error| DataError::Io {
            dir: self.dir.clone(),
            error,
        })
    }

    /// The file that says that participants of one study, by its hash, continued in another.
    pub fn carried_path(&self, from: &str, to: &str) -> PathBuf {
        self.dir
            .join("studies")
            .join(format!("{from}-{to}.carried"))
    }
}

/// Lets nobody but the owner into a folder.
fn keep_private(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(dir)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
        }
    }
    #[cfg(not(unix))]
    let _ = dir;
    Ok(())
}

/// The file of a clip of AI partners in a data folder, by the hash of the study, the watch stage, and the number of the
/// clip there, from 1.
pub fn clip_file(data: &Path, study_hash: &str, stage: &str, number: usize) -> PathBuf {
    let name = format!("{study_hash}-{stage}-{number}.clip");
    data.join("studies").join(name)
}

/// Tells whether a folder is the data folder of a server.
pub fn is_there(dir: &Path) -> bool {
    dir.join("episodes").is_dir() || dir.join(FILE).is_file()
}

/// Refuses a data folder in which bots or agents took part.
///
/// # Errors
/// [`DataError::Rehearsal`]
pub fn refuse_rehearsal(dir: &Path) -> Result<(), DataError> {
    match dir.join(REHEARSAL).is_file() {
        true => Err(DataError::Rehearsal(dir.into())),
        false => Ok(()),
    }
}

/// Reads a secret of a data folder, and makes it, for its owner alone, if it is not there.
///
/// # Errors
/// The disk refused, or the file is no secret of ours.
pub fn read_secret(dir: &Path, name: &str) -> io::Result<[u8; 32]> {
    let path = dir.join(name);
    let mut fresh = [0; 32];
    getrandom::fill(&mut fresh).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write_once(&path, &mut options, &fresh)?;
    let damaged = |_| {
        let said = format!("{} is damaged", path.display());
        io::Error::new(io::ErrorKind::InvalidData, said)
    };
    fs::read(&path)?.try_into().map_err(damaged)
}

/// Writes a file for its owner alone, in place of one that is there.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write_whole(path, &mut options, bytes)
}

/// Writes a file in place of one that is there; it has the old bytes or the new ones.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_whole(path, OpenOptions::new().write(true), bytes)
}

/// Writes a file, unless it is there, that is whole as soon as it has its name.
fn write_once(path: &Path, options: &mut OpenOptions, bytes: &[u8]) -> io::Result<()> {
    if path.try_exists()? {
        return Ok(());
    }
    write_whole(path, options, bytes)
}

fn write_whole(path: &Path, options: &mut OpenOptions, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = options.create(true).truncate(true).open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_is_told_who_has_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::open(dir.path()).unwrap();
        let error = DataDir::open(dir.path()).unwrap_err();
        assert!(matches!(error, DataError::Locked(_)), "{error}");
        drop(first);
        DataDir::open(dir.path()).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_enters_a_data_folder_also_one_that_was_there() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        for mode in [0o755, 0o777, 0o700] {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            drop(DataDir::open(dir.path()).unwrap());
            let found = fs::metadata(dir.path()).unwrap().permissions().mode();
            assert_eq!(found & 0o777, 0o700);
        }
        let new = dir.path().join("new");
        drop(DataDir::open(&new).unwrap());
        let found = fs::metadata(&new).unwrap().permissions().mode();
        assert_eq!(found & 0o777, 0o700);
    }

    #[test]
    fn a_module_is_stored_under_its_hash() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        let module = data.store_module("pong", b"module".into()).unwrap();
        let stored = fs::read(data.modules_folder().join(format!("{}.wasm", module.hash))).unwrap();
        assert_eq!(
            (stored.as_slice(), module.hash),
            (&b"module"[..], sha256_hex(b"module"))
        );
    }

    #[test]
    fn a_secret_stays_and_is_whole_or_not_there() {
        let dir = tempfile::tempdir().unwrap();
        // What a crash left of an earlier try.
        fs::write(dir.path().join("one.part"), "").unwrap();
        let made = read_secret(dir.path(), "one.key").unwrap();
        assert_eq!(read_secret(dir.path(), "one.key").unwrap(), made);
        assert_ne!(read_secret(dir.path(), "two.key").unwrap(), made);
        assert!(!dir.path().join("two.part").exists());
        #[cfg(unix)]
        {
            let about = fs::metadata(dir.path().join("two.key")).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::write(dir.path().join("one.key"), "short").unwrap();
        let error = read_secret(dir.path(), "one.key").unwrap_err();
        assert!(error.to_string().contains("one.key is damaged"), "{error}");
    }
}
