/** Who an account belongs to. */
export interface Owner {
  id: string;
  name: string;
}
