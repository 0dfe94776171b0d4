import { register } from 'node:module';

register('./ts-hook.mjs', import.meta.url);
