//! `coplay agent`: models, shown and compared with recordings; and agents that take part in a study.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use catalog::agent;
use coplay::cli::{AgentCommand, AgentPlayArgs};
use rehearsal::AgentOptions;

use crate::{done_if, refused, report, stopped};

/// Runs `coplay agent`.
pub(crate) async fn run(command: AgentCommand) -> anyhow::Result<ExitCode> {
    match command {
        AgentCommand::Show {
            agent,
            env,
            params,
            rules,
            json,
        } => {
            let params = agent::add_rules(&params, rules.as_deref())?;
            let env = env.as_deref().map(|env| (env, params.as_str()));
            report(&agent::describe_agent(&agent, env)?, json)?;
        }
        AgentCommand::Record { package } => {
            let mut out = io::stdout().lock();
            let known = agent::PACKAGES.join(", ");
            match package {
                None => writeln!(out, "coplay agent record PACKAGE, with one of: {known}")?,
                Some(package) => match agent::recipe(&package) {
                    Some(lines) => write!(out, "{lines}")?,
                    None => bail!("there is no recipe for `{package}`; there is: {known}"),
                },
            }
        }
        AgentCommand::Check(args) => {
            let order = agent::CheckOrder {
                agent: args.agent,
                env: args.env,
                params: args.params,
                rules: args.rules,
                trace: args.against,
                actions_only: args.actions_only,
                is_masked: args.action_mask,
            };
            let certificate = agent::check(&order)?;
            if let Some(path) = args.out {
                let text = serde_json::to_string_pretty(&certificate)? + "\n";
                std::fs::write(&path, text)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
            report(&certificate, args.json)?;
            return Ok(done_if(certificate.is_fine()));
        }
        AgentCommand::Play(args) => return play(args).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// `coplay agent play`.
async fn play(args: AgentPlayArgs) -> anyhow::Result<ExitCode> {
    let options = AgentOptions {
        study: args.study,
        policies: args.policy,
        sessions: args.sessions as usize,
        seed: args.seed,
        data: args.data,
    };
    let played = tokio::select! {
        played = rehearsal::play_agents(&options) => played,
        // The folder with the data so far is deleted with what is dropped here.
        () = stopped() => bail!("stopped before the end; nothing is left behind"),
    };
    match played {
        Ok(found) => {
            report(&found, args.json)?;
            Ok(done_if(found.is_fine()))
        }
        Err(error) => refused(&options.study, error),
    }
}
