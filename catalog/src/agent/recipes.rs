//! The lines of Python that record a trace, for each package.

/// The packages with a recipe.
pub const PACKAGES: [&str; 4] = ["coplay", "jaxmarl", "overcooked-ai", "zsc-eval"];

/// The lines for a package; `None` if there is no recipe for it.
pub fn recipe(package: &str) -> Option<String> {
    let (start, step, seed, note) = match package {
        "coplay" => (
            "import coplay\nenv = coplay.parallel_env(\"overcooked\", layout=\"cramped_room\")",
            "seen, _ = env.reset(seed=seed)",
            "seed",
            "",
        ),
        "jaxmarl" => (
            "import jax, jaxmarl\nenv = jaxmarl.make(\"overcooked\", layout=layout)",
            "seen, state = env.reset(jax.random.PRNGKey(seed))",
            "seed",
            "# JaxMARL draws where cooks look at the start; record it as `episode_params`, a JSON list with one object for\n# each episode, in the form that `coplay env show` prints for the environment.\n",
        ),
        "overcooked-ai" => (
            "from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv\nenv = OvercookedEnv.from_mdp(mdp, horizon=400)",
            "env.reset(); seen = env.lossless_state_encoding_mdp(env.state)",
            "seed",
            "",
        ),
        "zsc-eval" => (
            "# env as your runner makes it; its observations are multiplied by 255: keep them as they are",
            "seen, _, masks = env.reset()",
            "seed",
            "# Add masks=np.array(all_masks) to the file, and --action-mask to the check.\n",
        ),
        _ => return None,
    };
    Some(format!(
        "{start}\n\
         import json, numpy as np\n\
         rows = {{\"observations\": [], \"actions\": [], \"is_first\": []}}\n\
         for seed in range(10):\n\
         \x20   {step}\n\
         \x20   for t in range(400):\n\
         \x20       actions = [greedy(seen[seat]) for seat in env_seats]      # your policy, without drawing\n\
         \x20       rows[\"observations\"].append([np.asarray(seen[seat]) for seat in env_seats])\n\
         \x20       rows[\"actions\"].append(actions); rows[\"is_first\"].append(t == 0)\n\
         \x20       seen = step(env, actions)                                 # one step of your environment\n\
         np.savez_compressed(\"trace.npz\", **{{k: np.array(v) for k, v in rows.items()}}, seats=env_seats,\n\
         \x20   seeds=range(10), params=json.dumps({{\"layout\": \"cramped_room\"}}))  # {seed}: of each episode\n{note}"
    ))
}
