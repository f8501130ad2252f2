//! Times grading of one file: `cargo run --release --example grade_speed COMPETITION SUBMISSION ANSWERS [REPEATS]`.
#![expect(clippy::print_stdout, reason = "a measurement that people read")]

use std::{error::Error, fs, time::Instant};

use journeyman_mle_bench::{frame::read::read, graders::grader};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [competition, submission, answers, rest @ ..] = arguments.as_slice() else {
        return Err("name COMPETITION SUBMISSION ANSWERS [REPEATS]".into());
    };
    let repeats: u32 = rest.first().map_or(Ok(1), |text| text.parse())?;
    let grade = grader(competition).ok_or("no native grader")?;
    for _ in 0..repeats {
        let start = Instant::now();
        let submission = read(&fs::read(submission)?)?;
        let read_s = start.elapsed().as_secs_f64();
        let answers = read(&fs::read(answers)?)?;
        let score = grade(&submission, &answers)?;
        println!(
            "{score:?}: submission read in {read_s:.3} s, graded in {:.3} s in all",
            start.elapsed().as_secs_f64()
        );
    }
    let status = fs::read_to_string("/proc/self/status")?;
    if let Some(peak) = status.lines().find(|line| line.starts_with("VmHWM")) {
        println!("{peak}");
    }
    Ok(())
}
