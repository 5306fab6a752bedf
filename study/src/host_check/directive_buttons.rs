//! The check of buttons that tell AI partners what to do.

use super::HostCheck;
use crate::host::HostFacts;
use crate::problem::make_hint;
use crate::stage::RunOn;
use crate::stage::ai_partner::AiPartner;
use crate::stage::env::Env;

impl HostCheck<'_> {
    /// Reports buttons whose directive the partner cannot follow in an environment that it plays. Gives whether all are
    /// good.
    pub(super) fn check_buttons(
        &self,
        host: &impl HostFacts,
        partner: &AiPartner,
        env: &Env,
    ) -> bool {
        let (Some(buttons), Some(origin)) = (&partner.buttons, &partner.origin) else {
            return true;
        };
        let path = format!("partners.{}.buttons", origin.name);
        if env.run == RunOn::Host {
            let message = format!(
                "`{}` plays `{}`, which runs on a host, and directives need `run: page`; remove the buttons, or write that \
                 at the stage",
                origin.name, env.env
            );
            self.fault(&path, message);
            return false;
        }
        let policy = partner.policy.as_str();
        let known = match partner.model {
            Some(_) => Some(Vec::new()),
            None => host.directives(policy, env),
        };
        let Some(known) = known else { return true };
        let words: Vec<&str> = known.iter().map(String::as_str).collect();
        let mut buttons = buttons.list.iter().enumerate();
        let Some((at, button)) = buttons.find(|(_, button)| !known.contains(&button.directive))
        else {
            return true;
        };
        let fix = match words.is_empty() {
            true => format!(
                "`{policy}` takes no directives in `{}`; name a policy that does, such as `cook:wait`",
                env.env
            ),
            false => make_hint(&button.directive, &words),
        };
        let message = format!(
            "`{policy}` has no directive `{}` in `{}`; {fix}",
            button.directive, env.env
        );
        self.fault(&format!("{path}[{at}].do"), message);
        false
    }
}
