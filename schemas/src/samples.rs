//! One example of every message, and its JSON Schema: what `golden/` and `json/` are written from.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Stage,
    envelope::Envelope,
    event::{AdapterPublished, Cancel, DeadLetter, GroupEnded, GroupState},
    execution::{Execution, IsolationLevel, Limits, Marker, Nonce, NotRun, Verdict},
    fault::{Fault, FaultCode},
    generate::{ChatMessage, FinishReason, Generate, Generated, GeneratedSample, Prompt, Sampling},
    ideate::{Idea, Ideas, SeekHelp},
    ids::{ContentHash, IdError, ModelId, RolloutKey, RunId, TaskId},
    job::{
        Completion, ExecuteJob, Generation, GradeJob, IdeateJob, ImplementJob, InstrumentJob, InstrumentRule,
        Outcome, Policy, Solution, State, Work,
    },
    reward::{ChangeForm, EndOutcome, Reward, RewardParts, RewardRule, Rewarded, RolloutEnd},
    validate::{Validate, Validated},
};

/// A message type with its example.
pub struct Sample {
    /// File stem in `golden/` and `json/`.
    pub name: &'static str,
    /// The example as JSON.
    pub json: Value,
    /// The type's JSON Schema.
    pub schema: Schema,
    /// Reads a JSON text as this type and writes it again.
    pub round_trip: fn(&str) -> Result<Value, serde_json::Error>,
}

/// Every message, in the order of the subject table.
pub fn samples() -> Result<Vec<Sample>, IdError> {
    let run = RunId::new("quickstart")?;
    let key = RolloutKey {
        run: run.clone(),
        group: 3,
        rollout: 5,
    };
    let hash = |name: &str| ContentHash::of(name.as_bytes());
    let model = ModelId::new("qwen2-5-coder-0-5b")?;
    let task = TaskId::new("mlc-churn")?;
    let sampling = Sampling::training(512, 7, 5);
    let limits = Limits {
        wall_s: 60.0,
        memory_bytes: 2 << 30,
        pids: 128,
        output_bytes: 65536,
        disk_bytes: 256 << 20,
    };
    let solution = Solution {
        program: hash("program"),
        output: Some(hash("output")),
        score: Some(0.9125),
    };
    let instrument = InstrumentRule {
        model: Some(model.clone()),
        model_share: 0.125,
    };
    let work = Work {
        task: task.clone(),
        policy: Policy::Implementer,
        policy_version: 2,
        state: State::Improve(solution.clone()),
        reward: RewardRule::Score {
            invalid: -10.0,
            marker: 0.1,
        },
        completion: Some(hash("completion")),
        collect: false,
    };
    let generation = Generation {
        model: model.clone(),
        adapter: Some(hash("adapter")),
        sampling: sampling.clone(),
    };
    let nonce = Nonce("0f1e2d3c4b5a69788796a5b4c3d2e1f0".into());
    let idea = Idea {
        analysis: "the model predicts labels".into(),
        action: "predict probabilities".into(),
        rationale: "AUC ranks".into(),
    };
    let generated = Generated {
        model: model.clone(),
        adapter: Some(hash("adapter")),
        prompt_token_ids: vec![151644, 8948],
        sampling: sampling.clone(),
        samples: vec![GeneratedSample {
            token_ids: vec![9707, 151645],
            logprobs: vec![-0.25, -0.5],
            text: "Hello".into(),
            finish_reason: FinishReason::Stop,
        }],
    };
    let execution = Execution {
        verdict: Verdict::Ok,
        exit_code: Some(0),
        signal: None,
        wall_s: 1.25,
        cpu_s: 1.5,
        output: hash("raw output"),
        submission: Some(hash("submission")),
        submission_refused: None,
        isolation: IsolationLevel::Full,
        nonce: nonce.clone(),
        markers: Marker::ALL.to_vec(),
    };
    let reward = Reward {
        valid: true,
        markers: 6,
        score: Some(0.9125),
        gain: Some(0.9125),
        place: Some(0.75),
        parts: Some(RewardParts {
            validity: 0.0,
            markers: 0.6,
            score: 0.9125,
        }),
        total: 1.5125,
        reason: None,
    };
    let end = RolloutEnd {
        key: key.clone(),
        attempt: 1,
        policy: Policy::Implementer,
        policy_version: 2,
        outcome: EndOutcome::Rewarded(Box::new(Rewarded {
            reward,
            completion: hash("completion"),
            solution: Some(solution),
            verdict: Some(Verdict::Ok),
            not_run: None,
            wall_s: 1.25,
            cpu_s: 1.5,
            isolation: Some(IsolationLevel::Full),
        })),
    };
    let message = |stage: &str| Header {
        id: format!("{key}/{stage}/1"),
        key: key.clone(),
    };
    Ok(vec![
        message("generate").sample(
            "generate",
            Generate {
                model: model.clone(),
                adapter: Some(hash("adapter")),
                prompt: Prompt::Messages(vec![ChatMessage {
                    role: "user".into(),
                    content: "Hello".into(),
                }]),
                sampling: sampling.clone(),
                n: 1,
            },
        ),
        message("generate").sample("generated", generated),
        message("ideate").sample(
            "seek_help",
            SeekHelp {
                ideator: "default".into(),
                task: task.clone(),
                description: "Predict churn.".into(),
                program: "print(1)".into(),
                output: "1".into(),
                score: None,
                query: "How can AUC rise?".into(),
                n: 2,
            },
        ),
        message("ideate").sample("ideas", Ideas { ideas: vec![idea] }),
        message("validate").sample(
            "validate",
            Validate {
                task: task.clone(),
                asker: "agent-1".into(),
                submission: hash("submission"),
            },
        ),
        message("validate").sample(
            "validated",
            Validated {
                valid: false,
                kind: Some("values".into()),
                message: "line 3, column `churn`: `yes` is not a number; write it like `0.25`".into(),
            },
        ),
        message("ideate").sample(
            "ideate_job",
            IdeateJob {
                work: Work {
                    policy: Policy::Ideator,
                    reward: RewardRule::Change {
                        form: ChangeForm::Difference,
                        malformed: -1.0,
                    },
                    completion: None,
                    ..work.clone()
                },
                generation: generation.clone(),
                implement: Generation {
                    adapter: None,
                    ..generation.clone()
                },
                limits: limits.clone(),
                instrument: instrument.clone(),
            },
        ),
        message("implement").sample(
            "implement_job",
            ImplementJob {
                work: Work {
                    completion: None,
                    state: State::Scratch,
                    ..work.clone()
                },
                generation: generation.clone(),
                idea: None,
                limits: limits.clone(),
                instrument: instrument.clone(),
            },
        ),
        message("instrument").sample(
            "instrument_job",
            InstrumentJob {
                work: work.clone(),
                program: hash("program"),
                instrument,
                limits: limits.clone(),
            },
        ),
        message("execute").sample(
            "execute_job",
            ExecuteJob {
                work: work.clone(),
                program: hash("program"),
                instrumented: hash("instrumented"),
                nonce,
                markers: Marker::ALL.to_vec(),
                limits,
            },
        ),
        message("grade").sample(
            "grade_job",
            GradeJob {
                work: work.clone(),
                program: Some(hash("program")),
                outcome: Outcome::Ran(Box::new(execution)),
            },
        ),
        message("grade").sample(
            "grade_job_not_run",
            GradeJob {
                work,
                program: None,
                outcome: Outcome::NotRun(NotRun::NoProgram),
            },
        ),
        bare(
            "completion",
            Completion {
                model: model.clone(),
                adapter: Some(hash("adapter")),
                prompt_token_ids: vec![151644, 8948],
                token_ids: vec![9707, 151645],
                logprobs: vec![-0.25, -0.5],
                truncated: false,
                text: "Hello".into(),
                sampling,
            },
        ),
        bare("rollout_end", end),
        bare(
            "dead_letter",
            DeadLetter {
                stage: Stage::Execute,
                key: Some(key),
                attempt: 5,
                reason: "blob is missing".into(),
                message: serde_json::json!({"schema": 1}),
            },
        ),
        bare(
            "group_ended",
            GroupEnded {
                run: run.clone(),
                group: 3,
                state: GroupState::Complete,
            },
        ),
        bare(
            "adapter_published",
            AdapterPublished {
                run: run.clone(),
                version: 2,
                hash: hash("adapter"),
                model,
                base_sha256: hash("model file").as_str().into(),
                rank: 32,
                alpha: 64.0,
                targets: [
                    "q_proj",
                    "k_proj",
                    "v_proj",
                    "o_proj",
                    "gate_proj",
                    "up_proj",
                    "down_proj",
                ]
                .map(String::from)
                .to_vec(),
            },
        ),
        bare(
            "cancel",
            Cancel {
                run,
                reason: "stopped by the user".into(),
            },
        ),
        bare("fault", Fault::new(FaultCode::Busy, "all 32 slots are taken")),
    ])
}

struct Header {
    id: String,
    key: RolloutKey,
}

impl Header {
    fn sample<T: Serialize + DeserializeOwned + JsonSchema>(self, name: &'static str, body: T) -> Sample {
        let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned();
        bare(
            name,
            Envelope::new(self.id, Some(self.key), 1, 1_800_000_000_000, traceparent, body),
        )
    }
}

fn bare<T: Serialize + DeserializeOwned + JsonSchema>(name: &'static str, message: T) -> Sample {
    // Messages are plain data: maps with string keys, so they always serialise.
    let json = serde_json::to_value(&message).unwrap_or(Value::Null);
    Sample {
        name,
        json,
        schema: schema_for!(T),
        round_trip: round_trip::<T>,
    }
}

fn round_trip<T: Serialize + DeserializeOwned>(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_str::<T>(text)?)
}
