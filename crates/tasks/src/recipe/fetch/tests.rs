//! Tests of `fetch`.

use super::*;

#[test]
fn options_pick_a_pure_wheel_a_platforms_wheel_or_an_sdist() {
    let options = |archive| kind_of_archive(archive).join(" ");
    assert_eq!(options("a-1.0-py3-none-any.whl"), "--only-binary :all:");
    assert_eq!(
        options("river-0.26.1-cp311-cp311-manylinux_2_28_x86_64.whl"),
        "--only-binary :all: --platform manylinux_2_28_x86_64 --abi cp311 --implementation cp --python-version 311"
    );
    assert_eq!(options("a-1.0.tar.gz"), "--no-build-isolation --no-binary :all:");
}
