//! Where do tensors live?

use std::fmt;
use std::str::FromStr;

use burn::Dispatch;
use burn::DispatchDevice;
use burn::backend::flex::FlexDevice;

/// A float tensor on the device of its model.
pub type Tensor<const D: usize> = burn::tensor::Tensor<Dispatch, D>;

/// A processor that runs a model: `cpu` or `cuda:N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device(DeviceKind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum DeviceKind {
    Cpu,
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "constructed with the `cuda` feature only")
    )]
    Cuda(usize),
    /// Burn's tensor operations on the CPU, to compare them with the fused kernels.
    #[cfg(test)]
    TensorsOnCpu,
}

/// A device name that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Not a device name.
    #[error("device `{0}` is not known; allowed are `cpu` and `cuda:N` with a number N")]
    Unknown(String),
    /// A device that this program was built without.
    #[error("device `{0}` needs a program built with the feature `cuda`")]
    NotBuilt(String),
}

impl Device {
    /// The processor of this machine.
    pub fn cpu() -> Self {
        Self(DeviceKind::Cpu)
    }

    /// Runs burn's tensor operations on the CPU, as for a device other than the CPU.
    #[cfg(test)]
    pub(crate) fn tensors_on_cpu() -> Self {
        Self(DeviceKind::TensorsOnCpu)
    }

    /// True if matrices lie in host memory and the fused kernels of [`crate::host`] run.
    pub(crate) fn is_host(&self) -> bool {
        self.0 == DeviceKind::Cpu
    }

    /// The same device in burn's words.
    pub(crate) fn burn(&self) -> DispatchDevice {
        match self.0 {
            DeviceKind::Cpu => DispatchDevice::Flex(FlexDevice),
            #[cfg(test)]
            DeviceKind::TensorsOnCpu => DispatchDevice::Flex(FlexDevice),
            #[cfg(feature = "cuda")]
            DeviceKind::Cuda(index) => DispatchDevice::Cuda(burn::backend::cuda::CudaDevice::new(index)),
            #[cfg(not(feature = "cuda"))]
            DeviceKind::Cuda(_) => DispatchDevice::Flex(FlexDevice),
        }
    }
}

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        if name == "cpu" {
            return Ok(Self::cpu());
        }
        let index = name
            .strip_prefix("cuda:")
            .and_then(|index| index.parse::<usize>().ok())
            .ok_or_else(|| DeviceError::Unknown(name.to_owned()))?;
        cuda(index, name)
    }
}

#[cfg(feature = "cuda")]
fn cuda(index: usize, _name: &str) -> Result<Device, DeviceError> {
    Ok(Device(DeviceKind::Cuda(index)))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_index: usize, name: &str) -> Result<Device, DeviceError> {
    Err(DeviceError::NotBuilt(name.to_owned()))
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DeviceKind::Cpu => f.write_str("cpu"),
            #[cfg(test)]
            DeviceKind::TensorsOnCpu => f.write_str("tensors on cpu"),
            DeviceKind::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}
