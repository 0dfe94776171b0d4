export const HUB_PORT = 8787;
/** Beside MQTT's 1883, so that a broker that is there already stays undisturbed. */
export const BROKER_PORT = 18_830;
