//! How a failure of the store is told to a caller, and what it means for a job.

use journeyman_bus::JobError;
use journeyman_schemas::fault::{Fault, FaultCode};
use journeyman_store::StoreError;

/// The refusal that a caller gets.
pub fn fault_of(error: &StoreError) -> Fault {
    Fault::new(error.code(), chain(error))
}

/// What becomes of the job: again later, or given up where the same would come of it again.
pub fn job_error_of(error: &StoreError) -> JobError {
    match error.code() {
        // A blob may have been lost with a server that is being replaced; the job's deliveries are limited.
        code if code.retry() || code == FaultCode::NotFound => JobError::retry(chain(error)),
        _ => JobError::poison(chain(error)),
    }
}

/// An error with its causes, one after the other.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
