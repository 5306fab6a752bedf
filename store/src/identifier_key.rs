//! The key under which recruiters' identifiers are stored. It is outside of the data folder: a copy of only the folder
//! does not show who took part.
//!
//! A data folder names its key by a hash of it. This module must not know the database.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fmt};

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use protocol::hash::to_hex;
use server_core::arbiter::Identity;
use sha2::Sha256;

/// The environment variable that names the file of the key.
pub const VARIABLE: &str = "COPLAY_KEY_FILE";

/// Bytes of the nonce before each sealed identifier.
const NONCE_LEN: usize = 24;

/// The place of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In the user's configuration, a file for each data folder.
    User,
    /// In this file.
    File(PathBuf),
    /// Nowhere: the key of trials and rehearsals is in this program, so it protects nothing.
    Trial,
}

static PLACE: OnceLock<KeyPlace> = OnceLock::new();

/// Chooses where this process looks for keys, and makes them. The first choice stands.
pub fn choose_place(place: KeyPlace) {
    PLACE.get_or_init(|| place);
}

impl KeyPlace {
    /// The place that was chosen, or that the environment names, or the user's configuration.
    pub(crate) fn default_place() -> Self {
        if let Some(place) = PLACE.get() {
            return place.clone();
        }
        if cfg!(test) {
            return Self::Trial;
        }
        match env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
            Some(file) => Self::File(file.into()),
            None => Self::User,
        }
    }
}

/// The reason why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file is not there.
    #[error(
        "recruiters' identifiers are encrypted, and their key is missing: there is no {}; put it back, or name the file \
         that has it with --key or {VARIABLE}", .0.display()
    )]
    Missing(PathBuf),
    /// The file has another key.
    #[error(
        "{} is the key of another data folder: this one needs the key {wanted}, and the file has {found}; name the file \
         that has it with --key or {VARIABLE}", .file.display()
    )]
    Other {
        /// The file.
        file: PathBuf,
        /// The name of the key of the data folder.
        wanted: String,
        /// The name of the key in the file.
        found: String,
    },
    /// The file has no key.
    #[error("{} is no key of recruiters' identifiers: it must be one line of 64 hexadecimal digits", .0.display())]
    NoKey(PathBuf),
    /// The data folder has the key that everybody knows.
    #[error(
        "{} has data of a rehearsal or a trial, whose identifiers are encrypted with a key that everybody knows; \
         choose another folder with --data", .0.display()
    )]
    Trial(PathBuf),
    /// There is no folder for it.
    #[error(
        "there is no folder for the key of recruiters' identifiers, because neither XDG_CONFIG_HOME nor HOME is set; \
         name a file outside of the data folder with --key or {VARIABLE}"
    )]
    NoFolder,
    /// It would be in the data folder that it protects.
    #[error(
        "{} is in the data folder; the key of recruiters' identifiers must lie outside of it, or a copy of the folder \
         would have both", .0.display()
    )]
    Inside(PathBuf),
    /// The disk refused.
    #[error("the key of recruiters' identifiers, {}: {error}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A row was changed, or belongs to another key or session.
    #[error("an encrypted identifier is damaged: it was changed, or belongs to another session")]
    Damaged,
}

/// A key of identifiers.
#[derive(Clone)]
pub struct IdentifierKey {
    /// Its name: it distinguishes keys, and reveals nothing about them.
    id: String,
    seal: [u8; 32],
    lookup: [u8; 32],
}

/// Prints its name alone.
impl fmt::Debug for IdentifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentifierKey({})", self.id)
    }
}

/// An identifier as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedIdentifier {
    /// The recruiter's identifier as a hash under the key, 64 hex digits: equal for equal identifiers.
    pub(crate) lookup: String,
    /// Nonce, ciphertext and tag.
    pub(crate) sealed: Vec<u8>,
}

impl IdentifierKey {
    fn new(secret: &[u8; 32]) -> Self {
        let derive = |purpose: &str| -> [u8; 32] { keyed_hash(secret, purpose.as_bytes()) };
        Self {
            id: to_hex(&derive("coplay identifiers: name")[..8]),
            seal: derive("coplay identifiers: seal"),
            lookup: derive("coplay identifiers: lookup"),
        }
    }

    /// The key of trials and rehearsals, which everybody knows.
    fn trial() -> Self {
        Self::new(b"identifiers of trials: no secret")
    }

    /// Returns true for the key that everybody knows.
    pub(crate) fn is_trial(&self) -> bool {
        self.id == Self::trial().id
    }

    /// Its name, 16 hex digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Finds the key of a data folder by its name. A key in the folder is refused, as [`Self::make_key`] does.
    pub(crate) fn find(id: &str, place: &KeyPlace, data: &Path) -> Result<Self, KeyError> {
        let trial = Self::trial();
        if trial.id == id {
            return Ok(trial);
        }
        let file = match place {
            KeyPlace::File(file) => file.clone(),
            KeyPlace::User | KeyPlace::Trial => user_file(id)?,
        };
        check_outside(&file, data)?;
        let key = read_file(&file)?.ok_or_else(|| KeyError::Missing(file.clone()))?;
        match key.id == id {
            true => Ok(key),
            false => Err(KeyError::Other {
                file,
                wanted: id.to_owned(),
                found: key.id,
            }),
        }
    }

    /// Makes the key of a data folder that has none; takes the one that is in the named file already.
    pub(crate) fn make_key(place: &KeyPlace, data: &Path) -> Result<Self, KeyError> {
        let mut secret = [0; 32];
        fill(&mut secret)?;
        let file = match place {
            KeyPlace::Trial => return Ok(Self::trial()),
            KeyPlace::User => user_file(&Self::new(&secret).id)?,
            KeyPlace::File(file) => file.clone(),
        };
        check_outside(&file, data)?;
        if let Some(key) = read_file(&file)? {
            return Ok(key);
        }
        write_file(&file, &secret).map_err(|error| KeyError::Io {
            file: file.clone(),
            error,
        })?;
        // Another process may have made it meanwhile.
        let key = read_file(&file)?.ok_or_else(|| KeyError::Missing(file.clone()))?;
        tracing::warn!(
            "recruiters' identifiers are encrypted with the key in {}; keep that file, and a copy of it apart from the \
             data folder: without it, nobody can find out who is to be paid",
            file.display()
        );
        Ok(key)
    }

    /// The hash of a recruiter's identifier by which it is found.
    pub(crate) fn lookup_hash(&self, identifier: &str) -> String {
        to_hex(&keyed_hash(&self.lookup, identifier.as_bytes()))
    }

    /// Encrypts the identifier of a session.
    pub(crate) fn seal_identity(
        &self,
        session: &str,
        identity: &Identity,
    ) -> Result<SealedIdentifier, KeyError> {
        let mut nonce = [0; NONCE_LEN];
        fill(&mut nonce)?;
        let parts = (
            &identity.provider,
            &identity.participant,
            &identity.parameters,
        );
        let text = serde_json::to_vec(&parts).expect("names and values are text");
        let of_session = Payload {
            msg: &text,
            aad: session.as_bytes(),
        };
        let cipher = XChaCha20Poly1305::new(&self.seal.into());
        let sealed = cipher.encrypt(&XNonce::from(nonce), of_session);
        let sealed = sealed.expect("a text of a few kilobytes is not too long");
        Ok(SealedIdentifier {
            lookup: self.lookup_hash(&identity.participant),
            sealed: [&nonce[..], &sealed].concat(),
        })
    }

    /// Decrypts the identifier of a session.
    pub(crate) fn unseal_identity(
        &self,
        session: &str,
        sealed: &[u8],
    ) -> Result<Identity, KeyError> {
        let (nonce, sealed) = sealed
            .split_first_chunk::<NONCE_LEN>()
            .ok_or(KeyError::Damaged)?;
        let of_session = Payload {
            msg: sealed,
            aad: session.as_bytes(),
        };
        let cipher = XChaCha20Poly1305::new(&self.seal.into());
        let text = cipher.decrypt(&XNonce::from(*nonce), of_session);
        let text = text.map_err(|_| KeyError::Damaged)?;
        let (provider, participant, parameters) =
            serde_json::from_slice(&text).map_err(|_| KeyError::Damaged)?;
        Ok(Identity {
            provider,
            participant,
            parameters,
        })
    }
}

fn fill(bytes: &mut [u8]) -> Result<(), KeyError> {
    getrandom::fill(bytes).map_err(|error| KeyError::Io {
        file: "the random numbers of this machine".into(),
        error: io::Error::other(error),
    })
}

fn keyed_hash(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("it takes keys of every length");
    mac.chain_update(text).finalize().into_bytes().into()
}

/// The file of a key in the user's configuration.
fn user_file(id: &str) -> Result<PathBuf, KeyError> {
    let folder = |name: &str| {
        let folder = env::var_os(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute())
    };
    let configuration = || {
        let own = folder("XDG_CONFIG_HOME").or_else(|| folder("APPDATA"));
        let own = own.or_else(|| Some(folder("HOME")?.join(".config")));
        Some(own?.join("coplay"))
    };
    let coplay = folder("COPLAY_HOME").or_else(configuration);
    let coplay = coplay.ok_or(KeyError::NoFolder)?;
    Ok(coplay.join("keys").join(format!("{id}.key")))
}

/// Refuses a file in the data folder.
fn check_outside(file: &Path, data: &Path) -> Result<(), KeyError> {
    let whole = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // The file itself may not exist yet; its folders may be links.
        let known = path.ancestors().find_map(|part| {
            let rest = path.strip_prefix(part).ok()?;
            Some(part.canonicalize().ok()?.join(rest))
        });
        known.unwrap_or(path)
    };
    match whole(file).starts_with(whole(data)) {
        true => Err(KeyError::Inside(file.into())),
        false => Ok(()),
    }
}

/// Reads a key; `None` if there is no such file.
fn read_file(file: &Path) -> Result<Option<IdentifierKey>, KeyError> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(KeyError::NoKey(file.into()));
        }
        read => read.map_err(|error| KeyError::Io {
            file: file.into(),
            error,
        })?,
    };
    let digits = text.trim().as_bytes();
    let value = |digit: u8| (digit as char).to_digit(16);
    let bytes = digits
        .chunks_exact(2)
        .map(|pair| Some(((value(pair[0])? << 4) | value(pair[1])?) as u8));
    let bytes: Option<Vec<u8>> = bytes.collect();
    let secret: Option<[u8; 32]> = bytes
        .filter(|_| digits.len() == 64)
        .and_then(|bytes| bytes.try_into().ok());
    let secret = secret.ok_or_else(|| KeyError::NoKey(file.into()))?;
    Ok(Some(IdentifierKey::new(&secret)))
}

/// Writes a key for its owner alone, unless the file is there. It is whole as soon as it has its name.
fn write_file(file: &Path, secret: &[u8; 32]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Two processes may make it at the same time.
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    let part = folder.join(format!(".{}.part", to_hex(&number)));
    let mut out = options.open(&part)?;
    let written = out
        .write_all(format!("{}\n", to_hex(secret)).as_bytes())
        .and_then(|()| out.sync_all())
        .and_then(|()| match fs::hard_link(&part, file) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        });
    fs::remove_file(&part)?;
    written?;
    File::open(folder)?.sync_all()
}

/// Makes a folder with those above it; each new one is for its owner alone, and is there also after a power failure.
fn make_folder(folder: &Path) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    for made in missing {
        let above = made.parent().filter(|above| *above != Path::new(""));
        File::open(above.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            provider: "prolific".into(),
            participant: "5f0c8a1b2c3d4e5f60718293".into(),
            parameters: [("SESSION_ID".to_owned(), "se1".to_owned())].into(),
        }
    }

    #[test]
    fn a_sealed_identifier_opens_with_its_key_for_its_session_alone() {
        let (key, other) = (IdentifierKey::new(&[1; 32]), IdentifierKey::new(&[2; 32]));
        let stored = key.seal_identity("S-1", &identity()).unwrap();
        assert_eq!(
            key.unseal_identity("S-1", &stored.sealed).unwrap(),
            identity()
        );
        for (key, session) in [(&key, "S-2"), (&other, "S-1")] {
            let opened = key.unseal_identity(session, &stored.sealed);
            assert!(matches!(opened, Err(KeyError::Damaged)));
        }
        for at in [0, NONCE_LEN, stored.sealed.len() - 1] {
            let mut bent = stored.sealed.clone();
            bent[at] ^= 1;
            assert!(key.unseal_identity("S-1", &bent).is_err(), "byte {at}");
        }
        for len in [0, NONCE_LEN, NONCE_LEN + 15] {
            assert!(key.unseal_identity("S-1", &stored.sealed[..len]).is_err());
        }
    }

    #[test]
    fn equal_identifiers_have_equal_hashes_under_one_key_and_other_bytes_each_time() {
        let (key, other) = (IdentifierKey::new(&[1; 32]), IdentifierKey::new(&[2; 32]));
        let [one, two] =
            ["S-1", "S-1"].map(|session| key.seal_identity(session, &identity()).unwrap());
        assert_eq!(one.lookup, two.lookup);
        assert_ne!(one.sealed, two.sealed);
        assert_ne!(one.lookup, other.lookup_hash(&identity().participant));
        assert_ne!(one.lookup, key.lookup_hash("somebody else"));
    }

    #[test]
    fn a_key_file_is_made_once_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        let file = home.path().join("deep/down/own.key");
        let place = KeyPlace::File(file.clone());
        let made = IdentifierKey::make_key(&place, &data).unwrap();
        let again = IdentifierKey::make_key(&place, &data).unwrap();
        let found = IdentifierKey::find(made.id(), &place, &data).unwrap();
        assert_eq!((again.seal, found.seal), (made.seal, made.seal));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        }
        let left: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else is left: {left:?}");
    }

    #[test]
    fn many_processes_that_make_a_key_at_once_have_the_same() {
        let home = tempfile::tempdir().unwrap();
        let place = KeyPlace::File(home.path().join("own.key"));
        let data = home.path().join("data");
        let make = || IdentifierKey::make_key(&place, &data).unwrap().seal;
        let keys: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
            let joined = threads.into_iter().map(|thread| thread.join().unwrap());
            joined.collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }

    #[test]
    fn what_is_wrong_with_a_key_file_is_said_with_its_name() {
        let home = tempfile::tempdir().unwrap();
        let (data, file) = (home.path().join("data"), home.path().join("own.key"));
        let place = KeyPlace::File(file.clone());
        let error = IdentifierKey::find("00", &place, &data);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("own.key") && error.contains("--key"),
            "{error}"
        );
        fs::write(&file, "abc").unwrap();
        let error = IdentifierKey::make_key(&place, &data).unwrap_err();
        assert!(matches!(error, KeyError::NoKey(_)), "{error}");
        fs::write(&file, "0f".repeat(32)).unwrap();
        let error = IdentifierKey::find("00", &place, &data).unwrap_err();
        assert!(matches!(error, KeyError::Other { .. }), "{error}");
        let inside = KeyPlace::File(data.join("own.key"));
        let error = IdentifierKey::make_key(&inside, &data).unwrap_err();
        assert!(matches!(error, KeyError::Inside(_)), "{error}");
        // One that was put there later.
        fs::create_dir(&data).unwrap();
        fs::copy(&file, data.join("own.key")).unwrap();
        let id = IdentifierKey::new(&[15; 32]).id;
        let error = IdentifierKey::find(&id, &inside, &data).unwrap_err();
        assert!(matches!(error, KeyError::Inside(_)), "{error}");
    }
}
