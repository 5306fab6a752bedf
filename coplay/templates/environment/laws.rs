//! The environment keeps the laws that studies and training rely on.

#[test]
fn my_env_keeps_the_laws() {
    let small = my_env::Params {
        size: 3,
        horizon: 20,
    };
    env_core::conformance::check::<my_env::MyEnv>([Default::default(), small]).unwrap();
}
