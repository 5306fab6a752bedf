//! An object store, such as Amazon S3 or Garage, for the logs of ended episodes. The database says which object has a
//! log, and what its bytes are; an object that it does not name does not count.

mod http;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use futures_util::TryStreamExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore as _, ObjectStoreExt as _, RetryConfig};
use protocol::hash::sha256_hex;

/// The variables of the environment without which no object store is used.
const CREDENTIALS: [&str; 2] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

/// The time for which a request is repeated while the store fails, and the longest time between two tries. The caller
/// tries again by itself, or reports that the store does not answer.
const REPEATS_WITHIN: Duration = Duration::from_secs(10);
const REPEATS_EACH: Duration = Duration::from_secs(1);

/// An object store, and the place of a study in it.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    store: Arc<AmazonS3>,
    /// `s3://BUCKET/PREFIX`.
    address: String,
    /// The part of the address that every object's name begins with; may be empty.
    prefix: String,
}

/// A log in an object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredObject {
    /// The object's name below the prefix.
    pub(crate) name: String,
    /// Its bytes.
    pub(crate) length: usize,
    /// Their SHA-256, lower-case hex.
    pub(crate) sha256: String,
}

/// The bucket and the prefix of an address, `s3://BUCKET/PREFIX`.
///
/// # Errors
/// That is no such address.
pub(crate) fn read_address(address: &str) -> anyhow::Result<(&str, &str)> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let split = address.strip_prefix("s3://").and_then(|rest| {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |name: &str| {
            !name.is_empty() && !name.chars().all(|it| it == '.') && name.chars().all(is_plain)
        };
        let is_fine = is_name(bucket) && (prefix.is_empty() || prefix.split('/').all(is_name));
        is_fine.then_some((bucket, prefix))
    });
    split.with_context(|| {
        format!(
            "--object-store must be an address such as s3://my-bucket/my-study, of letters, digits, `.`, `_` and `-`, and \
             is `{address}`"
        )
    })
}

impl Objects {
    /// Opens an object store with the settings of the environment, without a request.
    ///
    /// # Errors
    /// The environment has no credentials, or names an endpoint that cannot be used.
    pub(crate) fn open(address: &str) -> anyhow::Result<Self> {
        let (bucket, prefix) = read_address(address)?;
        let has = |name: &&str| std::env::var(name).is_ok_and(|value| !value.is_empty());
        if let Some(missing) = CREDENTIALS.iter().find(|name| !has(name)) {
            bail!(
                "the logs of this study lie in {address}, and the environment has no {missing}; set {} and, unless that is \
                 Amazon S3, AWS_ENDPOINT_URL",
                CREDENTIALS.join(" and ")
            );
        }
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        check_endpoint(&builder)?;
        let backoff = BackoffConfig {
            max_backoff: REPEATS_EACH,
            ..BackoffConfig::default()
        };
        let store = builder
            .with_allow_http(true)
            .with_http_connector(http::Connector)
            // Not every store has it.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                backoff,
                retry_timeout: REPEATS_WITHIN,
                ..RetryConfig::default()
            })
            .build()
            .with_context(|| format!("the object store {address} cannot be used"))?;
        Ok(Self {
            store: Arc::new(store),
            address: address.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    /// The address, `s3://BUCKET/PREFIX`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    fn path(&self, name: &str) -> Path {
        match self.prefix.is_empty() {
            true => Path::from(name),
            false => Path::from(format!("{}/{name}", self.prefix)),
        }
    }

    /// Writes, reads and deletes an object of this name, so that wrong credentials are found before a log depends on them.
    ///
    /// # Errors
    /// The store, which is named.
    pub(crate) async fn try_out(&self, name: &str) -> anyhow::Result<()> {
        self.write(name, b"Coplay can write here.".to_vec()).await?;
        self.delete(name).await
    }

    /// Writes an object, and reads it to be sure that it is there.
    ///
    /// # Errors
    /// The store, which is named. The object may be there or not.
    pub(crate) async fn write(&self, name: &str, bytes: Vec<u8>) -> anyhow::Result<StoredObject> {
        let object = StoredObject {
            name: name.to_owned(),
            length: bytes.len(),
            sha256: sha256_hex(&bytes),
        };
        let written = self.store.put(&self.path(name), bytes.into()).await;
        written.with_context(|| format!("{name} cannot be written to {}", self.address))?;
        self.read(&object).await?;
        Ok(object)
    }

    /// The bytes of an object.
    ///
    /// # Errors
    /// The store, which is named, or they are other bytes than they were.
    pub(crate) async fn read(&self, object: &StoredObject) -> anyhow::Result<Vec<u8>> {
        let StoredObject { name, sha256, .. } = object;
        let read = async { self.store.get(&self.path(name)).await?.bytes().await };
        let bytes = match read.await {
            Ok(bytes) => Vec::from(bytes),
            Err(object_store::Error::NotFound { .. }) => bail!(
                "{} has no {name}: AWS_ENDPOINT_URL names another store, or somebody deleted it, and it is to be restored \
                 from a backup",
                self.address
            ),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("{name} cannot be read from {}", self.address));
            }
        };
        ensure!(
            sha256_hex(&bytes) == *sha256,
            "{name} in {} has other bytes than were written; restore it from a backup",
            self.address
        );
        Ok(bytes)
    }

    /// Deletes an object; one that is not there is none to be deleted.
    ///
    /// # Errors
    /// The store, which is named.
    pub(crate) async fn delete(&self, name: &str) -> anyhow::Result<()> {
        match self.store.delete(&self.path(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error)
                .with_context(|| format!("{name} cannot be deleted from {}", self.address)),
        }
    }

    /// The names of the objects in a folder.
    ///
    /// # Errors
    /// The store, which is named.
    pub(crate) async fn list(&self, folder: &str) -> anyhow::Result<Vec<String>> {
        let within = self.path(folder);
        let listed = self.store.list(Some(&within)).map_ok(|it| it.location);
        let listed: Vec<Path> = (listed.try_collect().await)
            .with_context(|| format!("{} does not say which objects it has", self.address))?;
        let names = listed.iter().filter_map(|path| {
            let name = path.as_ref().strip_prefix(within.as_ref())?;
            Some(format!("{folder}{name}"))
        });
        Ok(names.collect())
    }
}

/// Makes sure that logs travel in secret, or do not leave this machine.
fn check_endpoint(builder: &AmazonS3Builder) -> anyhow::Result<()> {
    let value = |key| builder.get_config_value(&key);
    let endpoint = value(AmazonS3ConfigKey::S3Endpoint);
    let endpoint = endpoint.or_else(|| value(AmazonS3ConfigKey::Endpoint));
    let endpoint = endpoint.unwrap_or_default();
    let allows = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|it| it == "true");
    ensure!(
        !endpoint.starts_with("http://") || allows || is_own_machine(&endpoint),
        "AWS_ENDPOINT_URL is {endpoint}, where everybody on the way can read the logs; use https, or set \
         AWS_ALLOW_HTTP=true if the network is closed"
    );
    Ok(())
}

/// True if an endpoint is on this machine, so that nobody else reads what is sent there.
fn is_own_machine(endpoint: &str) -> bool {
    let rest = endpoint.trim_start_matches("http://");
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.chars().all(|it| it.is_ascii_digit()) => host,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_bucket_and_a_place_in_it() {
        let read = |address| read_address(address).ok();
        assert_eq!(read("s3://lab/one/study"), Some(("lab", "one/study")));
        assert_eq!(read("s3://lab"), Some(("lab", "")));
        for wrong in [
            "lab/study",
            "https://lab/study",
            "s3://",
            "s3://lab//study",
            "s3://lab/../other",
            "s3://lab/a study",
        ] {
            let refused = read_address(wrong).unwrap_err().to_string();
            assert!(
                refused.contains("such as s3://my-bucket/my-study"),
                "{refused}"
            );
        }
    }

    #[test]
    fn only_this_machine_is_reached_without_tls() {
        for own in [
            "http://127.0.0.1:3900",
            "http://localhost",
            "http://[::1]:80/",
        ] {
            assert!(is_own_machine(own), "{own}");
        }
        for other in [
            "http://10.0.0.5:3900",
            "http://localhost.example.edu",
            "http://[::2]",
        ] {
            assert!(!is_own_machine(other), "{other}");
        }
    }
}
