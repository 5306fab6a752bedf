//! `coplay site`: the page of a study as plain files for another host.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use catalog::StartError;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use signaling_server::assets::Assets;
use signaling_server::site::{StudySite, is_study_bundle, make_offline_site, make_site};

use crate::cli::SiteArgs;

/// A file of every site, by which a folder is known as one: its version, and the server that it belongs to.
const MARK: &str = "site.json";

/// Files smaller than this are sent as they are.
const PACKED_FROM: usize = 1_024;

/// A site that was written.
#[derive(Debug, Serialize)]
pub struct SiteReport {
    /// Its folder.
    pub out: PathBuf,
    /// The server to which its pages connect; `None` for a study without one.
    pub server: Option<String>,
    /// The hash of all that a page loads.
    pub built: String,
    /// Number of files, compressed forms not counted.
    pub files: usize,
    /// Bytes of these files.
    pub bytes: u64,
}

impl fmt::Display for SiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.bytes as f64 / 1e6;
        let (files, out) = (self.files, self.out.display());
        let Some(server) = &self.server else {
            return write!(
                f,
                "{files} files ({megabytes:.1} MB) in {out}, for a study without a server\n\n\
                 Upload the folder to any web host. When participants have handed their data over:\n  \
                 coplay import STUDY FILES --data DATA"
            );
        };
        writeln!(
            f,
            "{files} files ({megabytes:.1} MB) in {out}, for the server {server}\n"
        )?;
        write!(
            f,
            "Upload the folder to any web host, and start the server with the address at which participants open it:\n  \
             coplay serve … --site https://HOST/PATH/"
        )?;
        if server.starts_with("ws://") {
            write!(
                f,
                "\n\nBrowsers connect to a server by ws:// only from a page without TLS (http://). For a page with TLS, give \
                 the server a certificate, and its address as wss://."
            )?;
        }
        Ok(())
    }
}

/// Writes the site of a study. A folder that has an older one keeps its modules, networks and media, which open pages may
/// still load, but no older study.
///
/// # Errors
/// The study has faults or cannot be a site; the folder has other files, or cannot be written.
pub fn write_site(args: &SiteArgs) -> Result<SiteReport, StartError> {
    let assets = args.dist.clone().map_or(Assets::Embedded, Assets::Folder);
    let scratch = tempfile::tempdir().context("a temporary folder")?;
    let site = match &args.server {
        Some(server) => make_site(&args.study, &assets, server, scratch.path())?,
        None => make_offline_site(&args.study, &assets, scratch.path())?,
    };
    Ok(write(&site, args.server.as_deref(), &args.out)?)
}

fn write(site: &StudySite, server: Option<&str>, out: &Path) -> anyhow::Result<SiteReport> {
    let is_empty = match fs::read_dir(out) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => true,
    };
    anyhow::ensure!(
        is_empty || out.join(MARK).is_file(),
        "{} has other files than a site; name an empty folder with --out",
        out.display()
    );
    let write_file = |name: &str, bytes: &[u8]| {
        let path = out.join(name);
        let folder = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))
    };
    let plain = |name: &&String| !name.ends_with(".br");
    let mut report = SiteReport {
        out: out.to_owned(),
        server: server.map(str::to_owned),
        built: site.built.clone(),
        files: 0,
        bytes: 0,
    };
    let mark = serde_json::json!({ "built": site.built, "server": server }).to_string();
    write_file(MARK, mark.as_bytes())?;
    // The page last: until then, the old one finds its files.
    let (page, others): (Vec<_>, Vec<_>) = site
        .files
        .iter()
        .partition(|(name, _)| *name == "index.html");
    for (name, bytes) in others.into_iter().chain(page) {
        write_file(name, bytes)?;
        if !plain(&name) {
            continue;
        }
        report.files += 1;
        report.bytes += bytes.len() as u64;
        if let Some(packed) = pack(bytes)? {
            write_file(&format!("{name}.gz"), &packed)?;
        }
    }
    remove_older_studies(site, out)?;
    Ok(report)
}

/// Removes the studies of older sites without a server, which pages load once, at their start.
fn remove_older_studies(site: &StudySite, out: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(out).with_context(|| format!("reading {}", out.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("reading {}", out.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        if is_study_bundle(plain) && !site.files.contains_key(plain) {
            let path = entry.path();
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// A file in the form of gzip, if that is much smaller.
fn pack(bytes: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    if bytes.len() < PACKED_FROM {
        return Ok(None);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    let packed = packed.finish()?;
    Ok(Some(packed).filter(|packed| packed.len() * 10 < bytes.len() * 9))
}

#[cfg(test)]
mod tests {
    use signaling_server::site::SiteFiles;

    use super::*;

    fn site(names: &[(&str, &str)]) -> StudySite {
        let files = names
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec().into()));
        StudySite {
            files: files.collect::<SiteFiles>(),
            built: "b".to_owned(),
        }
    }

    #[test]
    fn a_newer_site_replaces_the_page_and_keeps_what_open_pages_may_load() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("site");
        let long = "module ".repeat(1_000);
        let first = site(&[
            ("index.html", "one"),
            ("modules/a.wasm", &long),
            ("modules/a.wasm.br", "x"),
            ("study-0123456789ab.bundle", &long),
        ]);
        let report = write(&first, Some("wss://study.example.edu"), &out).unwrap();
        assert_eq!((report.files, report.bytes), (3, 14_003));
        let bundle = ["study-0123456789ab.bundle", "study-0123456789ab.bundle.gz"];
        assert!(bundle.iter().all(|name| out.join(name).is_file()));
        let packed = fs::read(out.join("modules/a.wasm.gz")).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&packed[..]), &mut text)
            .unwrap();
        assert_eq!(text, long);
        write(
            &site(&[("index.html", "two")]),
            Some("wss://study.example.edu"),
            &out,
        )
        .unwrap();
        assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "two");
        assert!(out.join("modules/a.wasm").is_file());
        assert!(bundle.iter().all(|name| !out.join(name).exists()));
    }

    #[test]
    fn a_folder_with_other_files_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "years").unwrap();
        let told = write(
            &site(&[("index.html", "one")]),
            Some("wss://s"),
            folder.path(),
        )
        .unwrap_err();
        assert!(told.to_string().contains("other files than"), "{told}");
        assert!(!folder.path().join("index.html").exists());
    }
}
