/** What is wrong with an adapter, in words for people. */
import { type AdapterState, BleError } from './port.js';

/** Why nothing can be done with an adapter in this state, and what to do. */
export function notOn(state: AdapterState): BleError {
  switch (state) {
    case 'unauthorized':
      return new BleError(
        'unauthorized',
        'this process may not use the Bluetooth adapter. Give Node the capabilities, once: ' +
          'sudo setcap cap_net_raw,cap_net_admin+eip "$(readlink -f "$(which node)")"',
      );
    case 'absent':
      return new BleError(
        'no_adapter',
        'this machine has no Bluetooth adapter that can be used; plug one in, and see that ' +
          'the kernel has its driver (hciconfig -a lists it)',
      );
    case 'off':
      return new BleError(
        'adapter_off',
        'the Bluetooth adapter is off; switch it on: ' +
          'sudo rfkill unblock bluetooth && sudo hciconfig hci0 up',
      );
    default:
      return new BleError('adapter_off', 'the Bluetooth adapter has not come up yet; wait for it');
  }
}
