rows = {"actions": [], "is_first": []}
for seed in range(EPISODES):
    given = reset(seed)
    for step_of_episode in range(STEPS):
        is_first = step_of_episode == 0
        actions = [int(choose(one, seat, is_first)) for seat, one in enumerate(given)]
        rows["actions"].append(actions)
        rows["is_first"].append(is_first)
        for name in given[0]:
            rows.setdefault(name, []).append([np.asarray(given[seat][name]) for seat in SEATS])
        given = step(actions)

arrays = {name: np.asarray(values) for name, values in rows.items()}
params = {"package": PACKAGE, "params": json.dumps(PARAMS), "episode_params": json.dumps(EPISODE_PARAMS)}
np.savez_compressed("trace.npz", seats=np.asarray(SEATS), seeds=np.arange(EPISODES), **arrays, **params)
print(f"trace.npz has {len(rows['actions'])} steps of {EPISODES} episodes")
