//! Sites: the page of a study as plain files for other hosts.
//!
//! A site has the files that a page loads; everything else, including texts and questions, comes through the session.
//! The server knows from the hash of these files whether a site is its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use axum::body::Bytes;
use catalog::{StartError, read_study, record_study};
use offline::bundle::StudyBundle;
use protocol::hash::sha256_hex;
use replay::FILM_FILES;
use store::data_folder::{DataDir, EnvModule};
use study::{EnvFactsByStage, StageKind, Study};

use crate::app::own_bytes;
use crate::assets::Assets;
use crate::http::{make_policy, name_styles};
use crate::sentences::StudySentences;
use crate::site_rules::find_origin;
use crate::study_files::{env_stages, list_media, store_files};

/// Files by their path below the folder of a site.
pub type SiteFiles = BTreeMap<String, Bytes>;

/// A site, ready to be written.
#[derive(Clone, Debug)]
pub struct StudySite {
    /// The files; `index.html` is the page.
    pub files: SiteFiles,
    /// The hash of all that the page loads.
    pub built: String,
}

/// The beginning of the names of what only a study without a server loads.
const OFFLINE: &str = "offline_";

/// The program of the server's part, in the front end.
const OFFLINE_PROGRAM: &str = "offline_wasm_bg.wasm";

/// Around the hash, in the name of the file with the study of a site without a server.
const BUNDLE: [&str; 2] = ["study-", ".bundle"];

/// True if a file of a site is the study of one without a server.
pub fn is_study_bundle(name: &str) -> bool {
    name.starts_with(BUNDLE[0]) && name.ends_with(BUNDLE[1])
}

/// The server's part of a study without a server, as a journal names it: the version of Coplay, and the beginning of the
/// SHA-256 of the program. `None` if the front end has none.
pub fn name_offline_program(assets: &Assets) -> Option<String> {
    let program = sha256_hex(&assets.read(OFFLINE_PROGRAM)?);
    Some(format!("{}-{}", env!("CARGO_PKG_VERSION"), &program[..12]))
}

/// The files that pages load for a study, by their path below the address of the page. The source of a world on a host
/// is not among them.
pub(crate) fn list_study_files(
    study: &Study,
    facts: &EnvFactsByStage,
    modules: &[EnvModule],
) -> SiteFiles {
    let mut files = SiteFiles::new();
    for module in modules
        .iter()
        .filter(|it| !page_python::is_source(&it.bytes))
    {
        let name = format!("modules/{}.wasm", module.hash);
        files.insert(name, own_bytes(module.bytes.clone()));
    }
    for facts in facts.values().filter_map(|facts| facts.page_facts.clone()) {
        let name = format!("modules/{}.facts", sha256_hex(facts.as_bytes()));
        files.insert(name, facts.into());
    }
    for model in &study.models {
        let name = format!("networks/{}.network", model.sha256);
        files.insert(name, Bytes::from_owner(Arc::clone(&model.bytes)));
    }
    for (name, media) in list_media(study) {
        files.insert(format!("media/{name}"), Bytes::from_owner(media.bytes));
    }
    files
}

/// Hashes all that a page loads: the front end, the files of the study, and its sentences.
pub(crate) fn hash_site(assets: &Assets, files: &SiteFiles, study: &Study) -> String {
    let sentences = StudySentences::of(study);
    let front = list_front_end(assets, false);
    hash_files(assets, &front, files, sentences.as_ref())
}

fn hash_files(
    assets: &Assets,
    front: &[String],
    files: &SiteFiles,
    sentences: Option<&StudySentences>,
) -> String {
    let sentences = serde_json::json!(sentences).to_string();
    let mut listed = format!("{}\n", sha256_hex(sentences.as_bytes()));
    for name in front {
        let bytes = assets.read(name).unwrap_or_default();
        listed += &format!("{name} {}\n", sha256_hex(&bytes));
    }
    for (name, text) in FILM_FILES {
        listed += &format!("film/{name} {}\n", sha256_hex(text.as_bytes()));
    }
    // They are named by their hash.
    files.keys().for_each(|name| listed += &format!("{name}\n"));
    sha256_hex(listed.as_bytes())
}

/// The files of the front end but the environments, which a study names by their hash.
fn list_front_end(assets: &Assets, is_offline: bool) -> Vec<String> {
    let all = assets.list().into_iter();
    let all = all.filter(|name| !name.starts_with("modules/"));
    all.filter(|name| is_offline || !name.starts_with(OFFLINE))
        .collect()
}

/// Makes the site of a study for a server, such as `wss://study.example.edu`. `scratch` is a folder for a moment.
///
/// # Errors
/// The study has faults, or cannot be a site; the program has no front end.
pub fn make_site(
    study: &Path,
    assets: &Assets,
    server: &str,
    scratch: &Path,
) -> Result<StudySite, StartError> {
    let (study, facts) = read_study(study).map_err(StartError::Study)?;
    let data = DataDir::open(scratch).map_err(anyhow::Error::from)?;
    let modules = store_files(&study, &facts, &data, assets)?;
    if let Some(module) = modules.iter().find(|it| page_python::is_archive(&it.bytes)) {
        return Err(anyhow::anyhow!(
            "the environment {} is in Python and runs on pages (`run: page`), which load Python from the server; a site \
             cannot have it. Write `run: host` for it, or let participants open the server itself",
            module.env
        )
        .into());
    }
    let files = list_study_files(&study, &facts, &modules);
    // A policy compares paths exactly: it needs only the origin.
    let (scheme, rest) = server
        .split_once("://")
        .context("the address of a server")?;
    let host = rest.split('/').next().unwrap_or_default();
    let web = scheme.replacen("ws", "http", 1);
    let part = ServerPart {
        address: server,
        connects: format!("{scheme}://{host} {web}://{host}"),
        metas: String::new(),
    };
    Ok(finish_site(assets, &study, &modules, files, &part)?)
}

/// Makes the site of a study without a server. `scratch` is a folder for a moment.
///
/// # Errors
/// The study has faults or needs a server; the program has no front end.
pub fn make_offline_site(
    study: &Path,
    assets: &Assets,
    scratch: &Path,
) -> Result<StudySite, StartError> {
    let (study, facts, record) = record_study(study).map_err(StartError::Study)?;
    let needs = study.list_server_needs();
    if !needs.is_empty() {
        return Err(StartError::Study(needs));
    }
    let program = name_offline_program(assets).context(
        "this program was built without its front end; build it with `cargo xtask build`",
    )?;
    let data = DataDir::open(scratch).map_err(anyhow::Error::from)?;
    let modules = store_files(&study, &facts, &data, assets)?;
    let mut files = list_study_files(&study, &facts, &modules);
    let stages = env_stages(&study, facts, &modules).into_iter();
    let bundle = StudyBundle {
        program,
        files: record.files,
        facts: record.facts,
        modules: stages
            .map(|((stage, params), env)| (stage, params, env.module))
            .collect(),
    };
    let read = bundle.clone().read_study().map_err(anyhow::Error::from)?;
    if read.study.hash != study.hash {
        let why = "the study reads otherwise on a page than here, which is a fault of Coplay; please report it";
        return Err(anyhow::anyhow!(why).into());
    }
    let bundle = bundle.encode();
    let name = BUNDLE.join(&sha256_hex(&bundle)[..12]);
    let post = study.offline.as_ref().and_then(|terms| terms.post.clone());
    let origin = post.as_deref().and_then(find_origin);
    let meta = post.map_or(String::new(), |post| {
        format!(
            "\n<meta name=\"coplay-post\" content=\"{}\">",
            post.replace('&', "&amp;")
        )
    });
    let part = ServerPart {
        address: "offline",
        connects: origin.unwrap_or_default(),
        metas: format!("\n<meta name=\"coplay-study\" content=\"{name}\">{meta}"),
    };
    files.insert(name, bundle.into());
    Ok(finish_site(assets, &study, &modules, files, &part)?)
}

/// The server of a site, as its page names it.
struct ServerPart<'a> {
    /// Its address, or the word for none.
    address: &'a str,
    /// The origins to which pages connect.
    connects: String,
    /// Further elements of the head.
    metas: String,
}

/// Adds the front end to the files of a study.
fn finish_site(
    assets: &Assets,
    study: &Study,
    modules: &[EnvModule],
    mut files: SiteFiles,
    part: &ServerPart<'_>,
) -> anyhow::Result<StudySite> {
    let sentences = StudySentences::of(study);
    let front = list_front_end(assets, part.address == "offline");
    let built = hash_files(assets, &front, &files, sentences.as_ref());
    for module in modules {
        let packed = assets.read(&format!("modules/{}.wasm.br", module.env));
        let is_own = assets
            .module(&module.env)
            .is_some_and(|own| own == module.bytes);
        if let Some(packed) = packed.filter(|_| is_own) {
            files.insert(
                format!("modules/{}.wasm.br", module.hash),
                own_bytes(packed),
            );
        }
    }
    // A separate folder for every version: a browser or a host that keeps old files never mixes two.
    let folder = format!("page-{}", &built[..12]);
    for name in front.iter().filter(|name| !name.starts_with("index.html")) {
        if let Some(bytes) = assets.read(name) {
            files.insert(format!("{folder}/{name}"), own_bytes(bytes));
        }
    }
    if (study.timeline.iter()).any(|stage| matches!(stage.kind, StageKind::Watch(_))) {
        for (name, text) in FILM_FILES {
            let name = format!("{folder}/film/{name}");
            files.insert(name, Bytes::from_static(text.as_bytes()));
        }
    }
    let mut page = make_index(assets, (&front, &folder), part, &built)?;
    if let Some(sentences) = sentences {
        page = sentences.enter(&page);
    }
    files.insert("index.html".to_owned(), page.into());
    Ok(StudySite { files, built })
}

/// Makes the page of a site: as the server sends it, with the policy inside, because another host sends no such header.
fn make_index(
    assets: &Assets,
    (front, folder): (&[String], &str),
    part: &ServerPart<'_>,
    built: &str,
) -> anyhow::Result<String> {
    let page = assets.read("index.html");
    let page = page.context(
        "this program was built without its front end; build it with `cargo xtask build`",
    )?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    for name in front {
        page = page.replace(&format!("=\"{name}\""), &format!("=\"{folder}/{name}\""));
    }
    let policy = make_policy(&part.connects);
    let policy = format!("{policy}{}; form-action 'none'", name_styles(&page));
    let charset = "<meta charset=\"utf-8\">";
    let metas = format!(
        "{charset}\n<meta http-equiv=\"content-security-policy\" content=\"{policy}\">\n\
         <meta name=\"coplay-server\" content=\"{}\">\n<meta name=\"coplay-built\" content=\"{built}\">{}",
        part.address, part.metas
    );
    anyhow::ensure!(
        page.contains(charset),
        "index.html of the front end does not begin with {charset}"
    );
    Ok(page.replacen(charset, &metas, 1))
}
