//! The files of a study that pages load: modules, media and facts, and where the data folder keeps them.

use std::collections::HashMap;

use protocol::EnvWay;
use server_core::arbiter::{EnvStage, EnvStages};
use store::data_folder::{DataDir, EnvModule};
use study::media::{FOLDER, Media};
use study::stage::Env;
use study::{EnvFacts, EnvFactsByStage, StageKind, Study};

use crate::assets::Assets;

/// The pictures and videos of a study, by the end of their path.
pub(crate) fn list_media(study: &Study) -> HashMap<String, Media> {
    let name = |media: &Media| {
        let path = media.path();
        path.trim_start_matches(FOLDER).to_owned()
    };
    let all = study.media().map(|media| (name(media), media.clone()));
    all.collect()
}

/// The facts that the arbiter needs of each env stage, with the hash of the module that it plays.
pub fn env_stages(study: &Study, facts: EnvFactsByStage, modules: &[EnvModule]) -> EnvStages {
    let stage = |((index, params), facts): ((u16, String), EnvFacts)| {
        let StageKind::Env(env) = &study.timeline[usize::from(index)].kind else {
            return None;
        };
        // A host steps an environment of this program natively.
        let is_native = env.env_way() == EnvWay::Host && env.module.is_none();
        let module = kept(env, modules).filter(|_| !is_native);
        let module = module.map_or(String::new(), |module| module.hash.clone());
        Some(((index, params), EnvStage { facts, module }))
    };
    facts.into_iter().filter_map(stage).collect()
}

/// Returns the module of an environment among the stored ones. Two stages may play two modules of one id.
fn kept<'a>(env: &Env, modules: &'a [EnvModule]) -> Option<&'a EnvModule> {
    modules.iter().find(|module| match &env.module {
        Some(file) => module.hash == file.sha256,
        None => module.env == env.env,
    })
}

/// Stores a study and the files that pages load for it, and returns the modules of its environments.
///
/// # Errors
/// The folder cannot be written, or the front end lacks a module.
pub fn store_files(
    study: &Study,
    facts: &EnvFactsByStage,
    data: &DataDir,
    assets: &Assets,
) -> anyhow::Result<Vec<EnvModule>> {
    data.store_study(study)?;
    for facts in facts.values().filter_map(|facts| facts.page_facts.as_ref()) {
        data.store_facts(facts)?;
    }
    let modules = keep_modules(study, data, assets)?;
    for model in &study.models {
        data.store_model(model)?;
    }
    data.store_clips(study)?;
    Ok(modules)
}

/// Keeps the modules of the study's environments. A program without a front end has none; its page says so.
fn keep_modules(study: &Study, data: &DataDir, assets: &Assets) -> anyhow::Result<Vec<EnvModule>> {
    let mut modules: Vec<EnvModule> = Vec::new();
    for stage in &study.timeline {
        let StageKind::Env(env) = &stage.kind else {
            continue;
        };
        let is_native = env.env_way() == EnvWay::Host && env.module.is_none();
        if is_native || kept(env, &modules).is_some() {
            continue;
        }
        if let Some(file) = &env.module {
            modules.push(data.store_module(&env.env, file.bytes.to_vec().into())?);
            continue;
        }
        match assets.module(&env.env) {
            Some(bytes) => modules.push(data.store_module(&env.env, bytes)?),
            None if assets.read("index.html").is_none() => {
                tracing::warn!(
                    env = env.env,
                    "built without its front end: pages cannot play"
                );
            }
            None => anyhow::bail!(
                "the front end has no module of `{0}` (modules/{0}.wasm); build it with `cargo xtask build`",
                env.env
            ),
        }
    }
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_plays_its_own_module() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = "format: 1\nstudy: {id: own, version: 1.0.0, title: Own, contact: lab@example.edu}\ntimeline:\n".to_owned();
        for name in ["one", "two", "again"] {
            let file = if name == "two" { "b" } else { "a" };
            text +=
                &format!("  - {{id: {name}, type: env, env: mine@1.0.0, module: {file}.wasm}}\n");
            std::fs::write(dir.path().join(format!("{file}.wasm")), file).unwrap();
        }
        text += "  - {id: thanks, type: end, file: thanks.md}\n";
        std::fs::write(dir.path().join("study.yaml"), text).unwrap();
        std::fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
        let study = study::load(dir.path()).unwrap();

        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(home.path()).unwrap();
        let modules = keep_modules(&study, &data, &Assets::Folder(home.path().into())).unwrap();
        assert_eq!(modules.len(), 2);
        let facts = EnvFacts {
            seats: 1,
            tick_hz: 10,
            horizon: 900,
            actions: Vec::new(),
            noop: 0,
            is_old: false,
            page_facts: None,
            is_secret: false,
        };
        let facts = (0..3)
            .map(|stage| ((stage, "{}".to_owned()), facts.clone()))
            .collect();
        let stages = env_stages(&study, facts, &modules);
        let hash = |stage: u16| &stages[&(stage, "{}".to_owned())].module;
        assert_ne!(hash(0), hash(1));
        assert_eq!(hash(0), hash(2));
    }
}
